//! `lab bench-search`: how well search finds, beside a plain BM25 over the same texts.
//!
//! The evaluation: of every skill whose body has a section that says when to use it, one item of
//! that section is the query, the whole section is hidden from the index, and the skill is looked
//! for. Runs the very search of the product, in this process.
#![expect(
    clippy::cast_precision_loss,
    reason = "counts and bytes of a benchmark are far below 2^52"
)]

mod collection;
mod engine;
mod plain;
mod score;
mod spaces;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use gongfu_core::search::Scope;
use serde_json::{Value, json};

use crate::corpus;
use crate::machine;

use collection::{Collection, Question};
use score::Score;

/// The options of `lab bench-search`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A folder of skills, the corpus beside the repository when none is named
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// The number of the item that is taken of a section
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of seeds, one after the other, that are averaged
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Ask for every item instead of one a skill
    #[arg(long)]
    all: bool,
    /// The number of owners with ten skills each that are searched, to see what a space costs; 0 leaves it out
    #[arg(long, default_value_t = 10_000)]
    spaces: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let folder = match &arguments.corpus {
        Some(folder) => folder.clone(),
        None => machine::root()?.join(corpus::FOLDER),
    };
    let collection = Collection::read(&folder)?;
    let asking = collection.skills.iter().filter(|s| !s.items.is_empty());
    let asking = asking.count();
    if asking == 0 {
        bail!(
            "{} has no skill with a section that says when to use it: name a folder of skills by --corpus",
            folder.display()
        );
    }
    let questions: Vec<Vec<Question<'_>>> = if arguments.all {
        vec![collection.every_question()]
    } else {
        let seeds = arguments.seed..arguments.seed.saturating_add(arguments.seeds);
        seeds.map(|seed| collection.questions(seed)).collect()
    };
    let mut rows: Vec<(String, Score)> = Vec::new();
    let plain = plain::Plain::new(&collection);
    rows.push((
        "plain BM25, everything".to_owned(),
        score::of(&questions, |question| plain.rank(question)),
    ));
    let engine = engine::Engine::new(&collection)?;
    for (name, scope) in [
        ("name", Scope::Name),
        ("name and description", Scope::Description),
        ("full index", Scope::Everything),
    ] {
        let score = score::of(&questions, |question| engine.rank(question, scope));
        rows.push((name.to_owned(), score));
    }
    let beaten = beats(&rows);
    if !arguments.json {
        println!(
            "{} skills, {asking} of them ask; {} questions{}",
            collection.skills.len(),
            questions.iter().map(Vec::len).sum::<usize>(),
            if arguments.all { "" } else { " over all seeds" },
        );
        println!("{}", score::table(&rows));
        println!(
            "the full index beats plain BM25 on each figure: {}",
            if beaten { "yes" } else { "NO" }
        );
    }
    let spaces = (arguments.spaces > 0)
        .then(|| spaces::measure(&collection, arguments.spaces))
        .transpose()?;
    if arguments.json {
        let all: Vec<Value> = rows
            .iter()
            .map(|(name, score)| score.to_json(name))
            .collect();
        let spaces = spaces.as_ref().map(spaces::Spaces::to_json);
        println!(
            "{:#}",
            json!({ "rows": all, "beats_plain": beaten, "spaces": spaces })
        );
    } else if let Some(spaces) = spaces {
        println!("\n{}", spaces.to_text());
    }
    Ok(if beaten {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// True when the last row is better than the first on each figure.
fn beats(rows: &[(String, Score)]) -> bool {
    match rows {
        [(_, plain), .., (_, full)] => {
            full.first > plain.first && full.five > plain.five && full.reciprocal > plain.reciprocal
        }
        _ => false,
    }
}
