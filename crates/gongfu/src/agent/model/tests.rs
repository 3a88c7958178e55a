//! Tests of models by name.

use gongfu_agent::Models as _;
use gongfu_core::port::ModelErrorKind;
use gongfu_llm::Key;

use super::ConfiguredModels;
use crate::config::{ModelPrice, ModelSection};
use crate::environment::Environment;

fn environment(keys: &[&'static str]) -> Environment {
    let mut environment = Environment::default();
    let keys = keys.iter().map(|name| (*name, Key::new("k")));
    environment.models.keys.extend(keys);
    environment
}

#[test]
fn says_how_to_name_a_model() {
    let message = |keys: &[&'static str]| {
        let models = ConfiguredModels::new(&ModelSection::default(), &environment(keys));
        let error = models.model(None).err().unwrap();
        assert_eq!(error.kind, ModelErrorKind::NotConfigured);
        error.message
    };
    assert_eq!(
        message(&["OPENAI_API_KEY", "GROQ_API_KEY"]),
        "no model is named (configured: groq, openai); name one: `gongfu chat --model groq/NAME`, or permanently \
         `gongfu config set models.default groq/NAME`"
    );
    assert_eq!(
        message(&[]),
        "no model is named, and no provider is configured: set the key of one, such as OPENAI_API_KEY"
    );
}

#[test]
fn model_has_the_price_and_the_api_of_the_settings() {
    let price = ModelPrice {
        input: 0.25,
        cached: None,
        output: 2.0,
    };
    let mut section = ModelSection::default();
    section.prices.insert("openai/small".to_owned(), price);
    section.apis.insert("mine".to_owned(), "grpc".to_owned());
    section.without_tools.push("openai/other".to_owned());
    let models = ConfiguredModels::new(&section, &environment(&["OPENAI_API_KEY"]));
    let small = models.model(Some("small")).unwrap();
    let price = small.price().unwrap();
    assert_eq!((small.name(), small.calls_tools()), ("openai/small", true));
    assert_eq!((price.input, price.cached, price.output), (0.25, 0.25, 2.0));
    let other = models.model(Some("other")).unwrap();
    assert!(other.price().is_none() && !other.calls_tools());
    let wrong = models.model(Some("mine/x")).err().unwrap();
    assert!(
        wrong.message.contains("\"grpc\" is not an API"),
        "{}",
        wrong.message
    );
}
