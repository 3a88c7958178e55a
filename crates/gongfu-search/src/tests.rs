//! Search over skills on disk: what is found, what is indexed, what happens to damaged indexes.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::path::Path;
use std::sync::Arc;

use gongfu_core::port::{SkillSearch as _, SkillStore, Timestamp};
use gongfu_core::search::{Answer, Filter, Query, Scope, SearchText};

use gongfu_files::Home;
use gongfu_library::source::Settings;
use gongfu_library::{LocalSkills, SwitchRecord};
use gongfu_testing::{FixedClock, MemoryRecords};

use super::Search;

struct Fixture {
    folder: tempfile::TempDir,
    skills: Arc<LocalSkills>,
    runtime: tokio::runtime::Runtime,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("skills");
        std::fs::create_dir_all(&root).unwrap();
        let settings = Settings {
            explicit: vec![root],
            ..Settings::default()
        };
        // Every call looks again.
        let clock = FixedClock::stepping(Timestamp(4_000_000_000_000), 60_000);
        let home = Home::at(folder.path().join("home"));
        let switches = SwitchRecord::new(Arc::new(MemoryRecords::default()));
        Self {
            skills: Arc::new(LocalSkills::new(home, settings, switches, Arc::new(clock))),
            runtime: tokio::runtime::Builder::new_multi_thread().build().unwrap(),
            folder,
        }
    }

    fn put(&self, name: &str, description: &str, body: &str) {
        let folder = self.folder.path().join("skills").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let short = name.rsplit('/').next().unwrap();
        let text = format!("---\nname: {short}\ndescription: {description}\n---\n{body}");
        std::fs::write(folder.join("SKILL.md"), text).unwrap();
    }

    fn index(&self) -> std::path::PathBuf {
        self.folder.path().join("home/search")
    }

    fn search(&self) -> Search {
        let home = Home::at(self.folder.path().join("home"));
        Search::new(
            Arc::<LocalSkills>::clone(&self.skills) as Arc<dyn SkillStore>,
            Some(home),
        )
    }

    fn ask(&self, search: &Search, query: &Query) -> Answer {
        self.runtime.block_on(search.search(query)).unwrap()
    }

    /// The names of what is found.
    fn names(&self, search: &Search, text: &str) -> Vec<String> {
        let answer = self.ask(search, &Query::new(text, 10));
        let hits = answer.hits.iter();
        hits.map(|hit| hit.skill.name.to_string()).collect()
    }
}

fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).map(Iterator::count);
    entries.unwrap_or(0)
}

#[test]
fn everything_that_a_skill_says_is_found() {
    let fixture = Fixture::new();
    fixture.put(
        "pdf-tools",
        "Merge documents.",
        "# Pages\n\nrotate them\n\n```sh\nqpdf --linearize\n```\n",
    );
    fixture.put(
        "charts",
        "Draw charts.",
        "# Bars\n\nuse parseHttpRequest for data\n",
    );
    let search = fixture.search();
    for (query, expected) in [
        ("pdf", "pdf-tools"),
        ("merging a document", "pdf-tools"),
        ("page", "pdf-tools"),
        ("rotating", "pdf-tools"),
        ("linearize", "pdf-tools"),
        ("HTTP requests", "charts"),
        ("parsehttprequest", "charts"),
        ("PDFTools", "pdf-tools"),
    ] {
        assert_eq!(
            fixture.names(&search, query).first().map(String::as_str),
            Some(expected),
            "{query}"
        );
    }
    assert!(fixture.names(&search, "nothing of this").is_empty());
    let answer = fixture.ask(&search, &Query::new("rotate", 10));
    assert_eq!(
        answer.hits[0].snippet,
        "rotate them ```sh qpdf --linearize ```"
    );
    assert_eq!(answer.total, 1);
    let named = Query {
        scope: Scope::Name,
        ..Query::new("rotate", 10)
    };
    assert!(fixture.ask(&search, &named).hits.is_empty());
}

#[test]
fn adjacent_words_count_more() {
    let fixture = Fixture::new();
    fixture.put(
        "far",
        "Helper.",
        "a request here and something else about the pull",
    );
    fixture.put(
        "near",
        "Helper.",
        "a pull request here and something else about the",
    );
    let search = fixture.search();
    assert_eq!(fixture.names(&search, "pull request"), ["near", "far"]);
    assert_eq!(fixture.names(&search, "requests to pull"), ["near", "far"]);
    let words = fixture.ask(&search, &Query::new("request", 10));
    let scores: Vec<f32> = words.hits.iter().map(|hit| hit.score).collect();
    assert!(
        (scores[0] - scores[1]).abs() < 0.01,
        "else they are alike: {scores:?}"
    );
}

/// Any two neighbours of a description in Chinese, Japanese or Korean lead to the skill.
#[test]
fn two_neighbouring_characters_are_enough() {
    let fixture = Fixture::new();
    let descriptions = [
        (
            "zh",
            "合并多个PDF文档，并按页码拆分；支持旋转、加水印与提取表格。",
        ),
        (
            "ja",
            "データを集計してグラフやレポートを作成するためのスキルです。",
        ),
        ("ko", "스프레드시트 데이터를 분석하고 보고서를 만듭니다."),
    ];
    for (name, description) in descriptions {
        fixture.put(name, description, "# Steps\n\n1. look\n");
    }
    fixture.put(
        "other",
        "技能 스킬 その他 something else entirely",
        "中文 日本語 한국어",
    );
    let search = fixture.search();
    assert_eq!(
        fixture.names(&search, "ﾚﾎﾟｰﾄ"),
        ["ja"],
        "narrow letters are letters"
    );
    let mut asked = 0;
    for (name, description) in descriptions {
        let characters: Vec<char> = description.chars().collect();
        for pair in characters.windows(2) {
            let query: String = pair.iter().collect();
            let dense = |c: &char| {
                gongfu_core::search::script::class(*c) == gongfu_core::search::script::Class::Dense
            };
            if !pair.iter().all(dense) {
                continue;
            }
            asked += 1;
            let found = fixture.names(&search, &query);
            assert!(
                found.iter().any(|found| found == name),
                "{name}: {query}: {found:?}"
            );
        }
        for single in characters
            .iter()
            .filter(|c| !c.is_ascii() && c.is_alphanumeric())
        {
            let found = fixture.names(&search, &single.to_string());
            assert!(found.iter().any(|found| found == name), "{name}: {single}");
        }
    }
    assert!(asked > 40, "{asked}");
}

#[test]
fn a_change_is_found_by_the_next_search_and_nothing_is_indexed_twice() {
    let fixture = Fixture::new();
    for number in 0..20 {
        fixture.put(
            &format!("skill-{number}"),
            "Common words.",
            &format!("bo{number}"),
        );
    }
    let search = fixture.search();
    assert_eq!(fixture.names(&search, "bo7"), ["skill-7"]);
    let before = written(&fixture);
    // The same again, in another process: nothing is written.
    assert_eq!(fixture.names(&fixture.search(), "bo8"), ["skill-8"]);
    assert_eq!(written(&fixture), before);
    fixture.put("skill-7", "Common words.", "changed");
    assert!(fixture.names(&search, "bo7").is_empty());
    assert_eq!(fixture.names(&search, "changed"), ["skill-7"]);
    std::fs::remove_dir_all(fixture.folder.path().join("skills/skill-8")).unwrap();
    assert!(fixture.names(&search, "bo8").is_empty());
    // The same text at another place needs no new index entry, and is one result.
    let grown = written(&fixture);
    fixture.put("group/skill-9", "Common words.", "bo9");
    let answer = fixture.ask(&search, &Query::new("bo9", 10));
    assert_eq!(answer.hits.len(), 1, "a copy is found once");
    assert_eq!(written(&fixture), grown, "and indexed once");
}

/// The files of the index that hold texts.
fn written(fixture: &Fixture) -> Vec<String> {
    let mut names = Vec::new();
    for index in std::fs::read_dir(fixture.index()).unwrap() {
        for file in std::fs::read_dir(index.unwrap().path()).unwrap() {
            let name = file.unwrap().file_name().to_string_lossy().into_owned();
            if name.contains(".term") {
                names.push(name);
            }
        }
    }
    names.sort();
    names
}

#[test]
fn ranking_counts_enabled_skills_only() {
    let fixture = Fixture::new();
    fixture.put("first", "About whales.", "whales");
    fixture.put("second", "Mentions whales.", "fish");
    let search = fixture.search();
    let alone = fixture.ask(&search, &Query::new("fish", 10)).hits[0].score;
    assert_eq!(fixture.names(&search, "whales"), ["first", "second"]);
    let library = fixture.skills.current().unwrap();
    let first = library.resolve("first").unwrap();
    fixture
        .runtime
        .block_on(fixture.skills.set_enabled(first, false))
        .unwrap();
    assert_eq!(fixture.names(&search, "whales"), ["second"]);
    let fewer = fixture.ask(&search, &Query::new("fish", 10)).hits[0].score;
    assert!(
        (alone - fewer).abs() > f32::EPSILON,
        "counts are of what is on"
    );
}

#[test]
fn filters_choose_by_source_and_tag() {
    let fixture = Fixture::new();
    fixture.put(
        "tagged",
        "Whales.\nmetadata:\n  tags: 'sea, Big Animals'",
        "",
    );
    fixture.put("untagged", "Whales.", "");
    let search = fixture.search();
    let query = |filter| Query {
        filter,
        ..Query::new("whales", 1)
    };
    let tagged = fixture.ask(
        &search,
        &query(Filter {
            tag: Some("big animals".to_owned()),
            source: Some("skills".to_owned()),
        }),
    );
    assert_eq!((tagged.hits.len(), tagged.total), (1, 1));
    assert_eq!(tagged.hits[0].skill.name.as_str(), "tagged");
    let none = fixture.ask(
        &search,
        &query(Filter {
            source: Some("elsewhere".to_owned()),
            tag: None,
        }),
    );
    assert_eq!((none.hits.len(), none.total), (0, 0));
}

#[test]
fn any_query_is_answered() {
    let fixture = Fixture::new();
    fixture.put("one", "The who of it all.", "-x 🎉 été");
    let search = fixture.search();
    for (query, found) in [
        ("", false),
        ("?!…—", false),
        ("\0\0", false),
        ("the of", true),
        ("-x", true),
        ("🎉", true),
        ("ete", true),
        ("\u{202e}who", true),
        (&"word ".repeat(20_000), false),
        (&"技".repeat(50_000), false),
        (&format!("{} who", "a-b_c.d ".repeat(1_000)), true),
    ] {
        let answer = fixture.ask(&search, &Query::new(query, 10));
        let shown: String = query.chars().take(20).collect();
        assert_eq!(!answer.hits.is_empty(), found, "{shown}");
        assert_eq!(answer.shortened, query.len() > 16 * 1024, "{shown}");
        assert!(
            answer
                .hits
                .iter()
                .all(|hit| hit.score.is_finite() && hit.score > 0.0)
        );
    }
}

#[test]
fn damaged_index_is_rebuilt() {
    let fixture = Fixture::new();
    fixture.put("one", "Whales.", "");
    assert_eq!(fixture.names(&fixture.search(), "whales"), ["one"]);
    let index = std::fs::read_dir(fixture.index())
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    for damage in ["truncate", "garbage", "meta", "remove"] {
        for file in std::fs::read_dir(&index).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.contains(".lock") {
                continue;
            }
            match damage {
                "truncate" => std::fs::write(&path, b"").unwrap(),
                "garbage" => {
                    let length = std::fs::metadata(&path).unwrap().len();
                    std::fs::write(&path, vec![0xA5; usize::try_from(length).unwrap()]).unwrap();
                }
                "meta" if name == "meta.json" => std::fs::write(&path, b"{}").unwrap(),
                "remove" if name.contains(".term") => std::fs::remove_file(&path).unwrap(),
                _ => {}
            }
        }
        assert_eq!(
            fixture.names(&fixture.search(), "whales"),
            ["one"],
            "{damage}"
        );
    }
    std::fs::remove_dir_all(fixture.index()).unwrap();
    assert_eq!(fixture.names(&fixture.search(), "whales"), ["one"]);
}

#[test]
fn index_damaged_while_open_is_rebuilt() {
    let fixture = Fixture::new();
    for number in 0..30 {
        fixture.put(
            &format!("skill-{number}"),
            "Common whales.",
            &format!("bo{number}"),
        );
    }
    for damage in ["truncate", "half", "garbage", "remove"] {
        let search = fixture.search();
        assert_eq!(fixture.names(&search, "bo7"), ["skill-7"]);
        let index = std::fs::read_dir(fixture.index())
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        for file in std::fs::read_dir(&index).unwrap() {
            let path = file.unwrap().path();
            let length = std::fs::metadata(&path).unwrap().len();
            let length = usize::try_from(length).unwrap();
            match damage {
                "truncate" => std::fs::write(&path, b"").unwrap(),
                "half" => {
                    let half = std::fs::read(&path).unwrap()[..length / 2].to_vec();
                    std::fs::write(&path, half).unwrap();
                }
                "garbage" => std::fs::write(&path, vec![0xA5; length]).unwrap(),
                _ => std::fs::remove_file(&path).unwrap(),
            }
        }
        for number in [3, 7] {
            let found = fixture.names(&search, &format!("bo{number}"));
            assert_eq!(found, [format!("skill-{number}")], "{damage}");
        }
    }
}

#[test]
fn everything_of_a_long_document_is_found() {
    let fixture = Fixture::new();
    fixture.put(
        "long",
        "Long.",
        &format!("{} zebra\n", "word after word\n".repeat(150_000)),
    );
    assert_eq!(fixture.names(&fixture.search(), "zebra"), ["long"]);
}

#[test]
fn index_is_in_memory_without_a_writable_folder() {
    let fixture = Fixture::new();
    fixture.put("one", "Whales.", "");
    std::fs::create_dir_all(fixture.folder.path().join("home")).unwrap();
    std::fs::write(fixture.index(), "a file where the folder would be").unwrap();
    assert_eq!(fixture.names(&fixture.search(), "whales"), ["one"]);
    assert_eq!(files(&fixture.index()), 0);
}

#[test]
fn many_searches_at_once_share_one_index() {
    let fixture = Fixture::new();
    for number in 0..50 {
        fixture.put(
            &format!("skill-{number}"),
            "Common.",
            &format!("bo{number}"),
        );
    }
    let searches: Vec<Search> = (0..8).map(|_| fixture.search()).collect();
    std::thread::scope(|scope| {
        for search in &searches {
            let fixture = &fixture;
            scope.spawn(move || {
                for number in 0..20 {
                    let found = fixture.names(search, &format!("bo{number}"));
                    assert_eq!(found, [format!("skill-{number}")]);
                }
            });
        }
    });
    assert_eq!(files(&fixture.index()), 1);
}

#[test]
fn other_texts_are_ranked_as_skills_are() {
    let fixture = Fixture::new();
    let search = fixture.search();
    let text = |name: &str, description: &str| SearchText {
        name: name.to_owned(),
        description: description.to_owned(),
        ..SearchText::default()
    };
    let mut texts: Vec<SearchText> = (0..600)
        .map(|number| text(&format!("noise_{number}"), "does the same as all others"))
        .collect();
    texts.push(text(
        "list_issues\nList issues",
        "Lists the issues of a repository",
    ));
    texts.push(text(
        "close",
        "Closes one of the issues that were listed, by its name",
    ));
    let index = fixture.runtime.block_on(search.index(texts)).unwrap();
    let found = |query: &str, limit| index.search(&Query::new(query, limit)).unwrap();
    let answer = found("listing issues", 10);
    assert_eq!(answer.hits, [600, 601]);
    assert_eq!((answer.total, answer.words), (2, true));
    assert_eq!(found("noise 77", 1).hits, [77]);
    assert_eq!(found("closed", 10).hits, [601]);
    assert_eq!(found("same", 3).hits, [0, 1, 2]);
    assert_eq!(found("same", 3).total, 600);
    // A name comes first, whatever is said elsewhere.
    assert_eq!(found("close", 1).hits, [601]);
    assert!(!found("?", 1).words && found("unheard", 1).hits.is_empty());
    let none = fixture.runtime.block_on(search.index(Vec::new())).unwrap();
    assert!(none.search(&Query::new("x", 1)).unwrap().hits.is_empty());
}
