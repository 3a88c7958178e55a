//! Search over skills on disk: what is found, what is indexed, what happens to damaged indexes.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::path::Path;
use std::sync::Arc;

use gongfu_core::port::{SkillSearch as _, SkillStore, Timestamp};
use gongfu_core::search::{Answer, Filter, Query, Scope};

use gongfu_files::Home;
use gongfu_library::source::Settings;
use gongfu_library::{LocalSkills, SwitchRecord};
use gongfu_testing::{FixedClock, MemoryRecords};

use super::Search;

struct Ground {
    folder: tempfile::TempDir,
    skills: Arc<LocalSkills>,
    runtime: tokio::runtime::Runtime,
}

impl Ground {
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
    let ground = Ground::new();
    ground.put(
        "pdf-tools",
        "Merge documents.",
        "# Pages\n\nrotate them\n\n```sh\nqpdf --linearize\n```\n",
    );
    ground.put(
        "charts",
        "Draw charts.",
        "# Bars\n\nuse parseHttpRequest for data\n",
    );
    let search = ground.search();
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
            ground.names(&search, query).first().map(String::as_str),
            Some(expected),
            "{query}"
        );
    }
    assert!(ground.names(&search, "nothing of this").is_empty());
    let answer = ground.ask(&search, &Query::new("rotate", 10));
    assert_eq!(
        answer.hits[0].snippet,
        "rotate them ```sh qpdf --linearize ```"
    );
    assert_eq!(answer.total, 1);
    let named = Query {
        scope: Scope::Name,
        ..Query::new("rotate", 10)
    };
    assert!(ground.ask(&search, &named).hits.is_empty());
}

#[test]
fn words_that_stand_together_count_more() {
    let ground = Ground::new();
    ground.put(
        "far",
        "Helper.",
        "a request here and something else about the pull",
    );
    ground.put(
        "near",
        "Helper.",
        "a pull request here and something else about the",
    );
    let search = ground.search();
    assert_eq!(ground.names(&search, "pull request"), ["near", "far"]);
    assert_eq!(ground.names(&search, "requests to pull"), ["near", "far"]);
    let words = ground.ask(&search, &Query::new("request", 10));
    let scores: Vec<f32> = words.hits.iter().map(|hit| hit.score).collect();
    assert!(
        (scores[0] - scores[1]).abs() < 0.01,
        "else they are alike: {scores:?}"
    );
}

/// Any two neighbours of a description in Chinese, Japanese or Korean lead to the skill.
#[test]
fn two_neighbouring_characters_are_enough() {
    let ground = Ground::new();
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
        ground.put(name, description, "# Steps\n\n1. look\n");
    }
    ground.put(
        "other",
        "技能 스킬 その他 something else entirely",
        "中文 日本語 한국어",
    );
    let search = ground.search();
    assert_eq!(
        ground.names(&search, "ﾚﾎﾟｰﾄ"),
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
            let found = ground.names(&search, &query);
            assert!(
                found.iter().any(|found| found == name),
                "{name}: {query}: {found:?}"
            );
        }
        for single in characters
            .iter()
            .filter(|c| !c.is_ascii() && c.is_alphanumeric())
        {
            let found = ground.names(&search, &single.to_string());
            assert!(found.iter().any(|found| found == name), "{name}: {single}");
        }
    }
    assert!(asked > 40, "{asked}");
}

#[test]
fn a_change_is_found_by_the_next_search_and_nothing_is_indexed_twice() {
    let ground = Ground::new();
    for number in 0..20 {
        ground.put(
            &format!("skill-{number}"),
            "Common words.",
            &format!("bo{number}"),
        );
    }
    let search = ground.search();
    assert_eq!(ground.names(&search, "bo7"), ["skill-7"]);
    let before = written(&ground);
    // The same again, in another process: nothing is written.
    assert_eq!(ground.names(&ground.search(), "bo8"), ["skill-8"]);
    assert_eq!(written(&ground), before);
    ground.put("skill-7", "Common words.", "changed");
    assert!(ground.names(&search, "bo7").is_empty());
    assert_eq!(ground.names(&search, "changed"), ["skill-7"]);
    std::fs::remove_dir_all(ground.folder.path().join("skills/skill-8")).unwrap();
    assert!(ground.names(&search, "bo8").is_empty());
    // The same text at another place needs no new index entry, and is one result.
    let grown = written(&ground);
    ground.put("group/skill-9", "Common words.", "bo9");
    let answer = ground.ask(&search, &Query::new("bo9", 10));
    assert_eq!(answer.hits.len(), 1, "a copy is found once");
    assert_eq!(written(&ground), grown, "and indexed once");
}

/// The files of the index that hold texts.
fn written(ground: &Ground) -> Vec<String> {
    let mut names = Vec::new();
    for index in std::fs::read_dir(ground.index()).unwrap() {
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
fn ranking_knows_only_the_skills_that_are_on() {
    let ground = Ground::new();
    ground.put("first", "About whales.", "whales");
    ground.put("second", "Mentions whales.", "fish");
    let search = ground.search();
    let alone = ground.ask(&search, &Query::new("fish", 10)).hits[0].score;
    assert_eq!(ground.names(&search, "whales"), ["first", "second"]);
    let library = ground.skills.current().unwrap();
    let first = library.resolve("first").unwrap();
    ground
        .runtime
        .block_on(ground.skills.set_enabled(first, false))
        .unwrap();
    assert_eq!(ground.names(&search, "whales"), ["second"]);
    let fewer = ground.ask(&search, &Query::new("fish", 10)).hits[0].score;
    assert!(
        (alone - fewer).abs() > f32::EPSILON,
        "counts are of what is on"
    );
}

#[test]
fn filters_choose_by_source_and_tag() {
    let ground = Ground::new();
    ground.put(
        "tagged",
        "Whales.\nmetadata:\n  tags: 'sea, Big Animals'",
        "",
    );
    ground.put("untagged", "Whales.", "");
    let search = ground.search();
    let query = |filter| Query {
        filter,
        ..Query::new("whales", 1)
    };
    let tagged = ground.ask(
        &search,
        &query(Filter {
            tag: Some("big animals".to_owned()),
            source: Some("skills".to_owned()),
        }),
    );
    assert_eq!((tagged.hits.len(), tagged.total), (1, 1));
    assert_eq!(tagged.hits[0].skill.name.as_str(), "tagged");
    let none = ground.ask(
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
    let ground = Ground::new();
    ground.put("one", "The who of it all.", "-x 🎉 été");
    let search = ground.search();
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
        let answer = ground.ask(&search, &Query::new(query, 10));
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
fn a_damaged_index_is_made_anew() {
    let ground = Ground::new();
    ground.put("one", "Whales.", "");
    assert_eq!(ground.names(&ground.search(), "whales"), ["one"]);
    let index = std::fs::read_dir(ground.index())
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
            ground.names(&ground.search(), "whales"),
            ["one"],
            "{damage}"
        );
    }
    std::fs::remove_dir_all(ground.index()).unwrap();
    assert_eq!(ground.names(&ground.search(), "whales"), ["one"]);
}

#[test]
fn an_index_that_is_damaged_while_it_is_open_is_made_anew() {
    let ground = Ground::new();
    for number in 0..30 {
        ground.put(
            &format!("skill-{number}"),
            "Common whales.",
            &format!("bo{number}"),
        );
    }
    for damage in ["truncate", "half", "garbage", "remove"] {
        let search = ground.search();
        assert_eq!(ground.names(&search, "bo7"), ["skill-7"]);
        let index = std::fs::read_dir(ground.index())
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
            let found = ground.names(&search, &format!("bo{number}"));
            assert_eq!(found, [format!("skill-{number}")], "{damage}");
        }
    }
}

#[test]
fn everything_of_a_long_document_is_found() {
    let ground = Ground::new();
    ground.put(
        "long",
        "Long.",
        &format!("{} zebra\n", "word after word\n".repeat(150_000)),
    );
    assert_eq!(ground.names(&ground.search(), "zebra"), ["long"]);
}

#[test]
fn without_a_place_to_write_the_index_lies_in_memory() {
    let ground = Ground::new();
    ground.put("one", "Whales.", "");
    std::fs::create_dir_all(ground.folder.path().join("home")).unwrap();
    std::fs::write(ground.index(), "a file where the folder would be").unwrap();
    assert_eq!(ground.names(&ground.search(), "whales"), ["one"]);
    assert_eq!(files(&ground.index()), 0);
}

#[test]
fn many_searches_at_once_share_one_index() {
    let ground = Ground::new();
    for number in 0..50 {
        ground.put(
            &format!("skill-{number}"),
            "Common.",
            &format!("bo{number}"),
        );
    }
    let searches: Vec<Search> = (0..8).map(|_| ground.search()).collect();
    std::thread::scope(|scope| {
        for search in &searches {
            let ground = &ground;
            scope.spawn(move || {
                for number in 0..20 {
                    let found = ground.names(search, &format!("bo{number}"));
                    assert_eq!(found, [format!("skill-{number}")]);
                }
            });
        }
    });
    assert_eq!(files(&ground.index()), 1);
}
