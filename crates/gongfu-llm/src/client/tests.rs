//! Tests of what makes no model.

use gongfu_core::port::ModelErrorKind;

use super::Clients;
use crate::settings::{Key, Limits, Provider, ProviderKind};

fn provider(key: &str) -> Provider {
    Provider {
        name: "openai".to_owned(),
        kind: ProviderKind::OpenAi,
        base_url: None,
        key: Some(Key::new(key)),
    }
}

#[test]
fn refuses_what_is_no_name_of_a_model() {
    let clients = Clients::new(Limits::default());
    for model in ["", "a b", "a::b", "../keys", "a?b", "a#b", "a\nb", "功夫"] {
        let refused = clients.chat_model(&provider("k"), model).err().unwrap();
        assert_eq!(refused.kind, ModelErrorKind::NotConfigured, "{model:?}");
    }
    for model in ["gpt-5.2", "meta-llama/Llama-3.3-70B:free", "org/model@1+x"] {
        let found = clients.chat_model(&provider("k"), model).unwrap();
        assert_eq!(found.name(), format!("openai/{model}"));
    }
}

#[test]
fn refuses_a_key_that_no_header_takes() {
    let refused = Clients::new(Limits::default())
        .chat_model(&provider("k\nx"), "gpt-5")
        .err()
        .unwrap();
    assert_eq!(refused.kind, ModelErrorKind::NotConfigured);
    assert!(!refused.message.contains("k\\nx"));
}
