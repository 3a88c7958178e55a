//! Settings of the installers.

use super::{InstallerFiles, Sources, ini_value, parse_uv};

#[test]
fn installer_settings_complete_the_sources() {
    let uv = "[[index]]\nurl = \"https://a.example/simple\"\ndefault = true\n[[index]]\nname = \"b\"\nurl = \"https://b.example\"\n";
    let (index, extra) = parse_uv(uv).unwrap();
    assert_eq!(index.as_deref(), Some("https://a.example/simple"));
    assert_eq!(extra, ["https://b.example"]);
    assert_eq!(parse_uv("[["), None);
    let pip = "[global]\n# index-url = https://no.example\nindex-url = https://a.example/simple\ntimeout = 3\n";
    assert_eq!(
        ini_value(pip, "index-url").as_deref(),
        Some("https://a.example/simple")
    );
    assert_eq!(
        ini_value(
            "@a:registry=https://no.example\nregistry=https://r.example/\n",
            "registry"
        )
        .as_deref(),
        Some("https://r.example/")
    );
    assert_eq!(ini_value("registry=${HOST}\n", "registry"), None);
    let folder = tempfile::tempdir().unwrap();
    let root = gongfu_files::disk::Root::open(folder.path()).unwrap();
    root.replace("pip.conf", pip.as_bytes(), false).unwrap();
    let files = InstallerFiles {
        pip: vec![
            folder.path().join("none/pip.conf"),
            folder.path().join("pip.conf"),
        ],
        ..InstallerFiles::default()
    };
    let read = Sources::default().or_from(&files).unwrap();
    assert_eq!(read.index.as_deref(), Some("https://a.example/simple"));
    let said = Sources {
        index: Some("https://said.example".to_owned()),
        ..Sources::default()
    };
    assert_eq!(
        said.or_from(&files).unwrap().index.as_deref(),
        Some("https://said.example")
    );
}
