//! Typical mistakes, each with its exit code and the words that show the way on.

use std::net::TcpListener;

use crate::fixture::Fixture;

const LIST: &str = include_str!("mistakes.txt");

/// The words of a line, as a shell reads them: blanks part them, quotes don't.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote, mut word) = (Vec::new(), None, None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_with(String::new);
            }
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_with(String::new).push(letter),
        }
    }
    words.extend(word);
    words
}

#[test]
fn each_mistake_shows_the_way_on() {
    let fixture = Fixture::with_skills();
    fixture.write("project/data.csv", "a,b\n");
    fixture.write("project/pack.zip", "PK");
    fixture.write("user/.cursor/mcp.json", "{ \"mcpServers\": {");
    fixture.write("typo/config.toml", "skils_dirs = []\n");
    fixture.write(
        "typo/open/config.toml",
        "skills_dirs = [\"~/skills\"\n\n[log]\n",
    );
    fixture.write("skills/drafts/README.md", "Notes.\n");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let typo = fixture.path("typo").to_string_lossy().into_owned();
    let mut mistakes = 0;
    for line in LIST.lines().filter(|line| !line.starts_with('#')) {
        let mut parts = line.splitn(3, " |");
        let mut part = || parts.next().unwrap().trim();
        let (code, command, said) = (part(), part(), part());
        let (variables, arguments) = command.split_once("gongfu").unwrap();
        let arguments = words(&arguments.replace("{port}", &port));
        let skills = fixture.path("skills");
        let mut run = fixture
            .gongfu(&arguments)
            .with("GONGFU_SKILLS_DIRS", &skills);
        for variable in variables.split_whitespace() {
            let (name, value) = variable.split_once('=').unwrap();
            run = run.with(name, value.replace("{typo}", &typo));
        }
        let ran = run.ends(code.parse().unwrap());
        let answer = format!("{}{}", ran.text(), ran.stderr);
        assert!(answer.contains(said), "{command}\n{answer}");
        mistakes += 1;
    }
    assert!(mistakes >= 100, "{mistakes}");
}
