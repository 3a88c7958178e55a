//! The sign-in by the company's provider. Each refusal has the sign-in beside it that must succeed.

use std::collections::BTreeMap;
use std::sync::Arc;

use gongfu_core::account::{TeamName, User};
use gongfu_core::port::{PortError, ProviderPerson, Records as _};
use gongfu_core::registry::sso::{SsoAnswer, SsoError, SsoSettings};
use gongfu_core::registry::{AccountError, IdentityError, NewToken, NewUser, SignInError};
use gongfu_testing::{FakeProvider, MemoryRecords, now, provider_person};

use crate::fixture::{PASSWORD, Server, new_user};

const MINUTE: i64 = 60 * 1_000;
const PROVIDER: &str = "https://login.example.com";
const NEXT: &str = "/authorize?x=y";

fn settings() -> SsoSettings {
    let teams = [("skills", "platform"), ("sales", "sales")];
    let teams = teams.map(|(group, team)| (group.to_owned(), team.to_owned()));
    SsoSettings {
        issuer: PROVIDER.to_owned(),
        name: "Example".to_owned(),
        teams: BTreeMap::from(teams),
        admins: ["staff".to_owned()].into(),
        passwords: true,
        check_after: 15 * MINUTE,
    }
}

/// A server, and the provider that it knows.
struct Company {
    server: Server,
    provider: Arc<FakeProvider>,
}

impl Company {
    fn new() -> Self {
        Self::with(settings())
    }

    fn with(settings: SsoSettings) -> Self {
        Self::over(1, Arc::default(), settings, Arc::default())
    }

    fn over(
        key: u64,
        records: Arc<MemoryRecords>,
        settings: SsoSettings,
        provider: Arc<FakeProvider>,
    ) -> Self {
        let mut server = Server::with(key, records);
        let port = Arc::<FakeProvider>::clone(&provider);
        server.accounts = server.accounts.with_sso(port, settings);
        Self { server, provider }
    }

    /// The answer with which a browser comes back after somebody signed in at the provider.
    fn answer(&self, browser: &str, subject: &str) -> SsoAnswer {
        let page = now(self.server.accounts.begin_sso(browser, NEXT)).unwrap();
        let (state, code) = self.provider.signs_in(&page, subject);
        SsoAnswer {
            state,
            code,
            issuer: Some(PROVIDER.to_owned()),
            error: None,
        }
    }

    fn finish(&self, browser: &str, answer: &SsoAnswer) -> Result<User, SsoError> {
        let finished = now(self.server.accounts.finish_sso(browser, answer));
        finished.map(|(user, next)| {
            assert_eq!(next, NEXT);
            user
        })
    }

    /// Signs a person in whom the provider knows.
    fn sign_in(&self, subject: &str) -> Result<User, SsoError> {
        self.finish("browser", &self.answer("browser", subject))
    }

    fn sign_in_as(&self, person: ProviderPerson) -> Result<User, SsoError> {
        let subject = person.subject.clone();
        self.provider.has(person);
        self.sign_in(&subject)
    }

    fn ann(&self) -> User {
        self.sign_in_as(provider_person("ann", &["skills"]))
            .unwrap()
    }

    fn token(&self, user: &User) -> String {
        let new = NewToken {
            name: "checks".to_owned(),
            scopes: gongfu_core::account::Scopes::usual(),
            skills: None,
            profile: None,
            expires: None,
        };
        let (token, _) = now(self.server.accounts.create_token(&user.id, new)).unwrap();
        token.as_str().to_owned()
    }

    fn identify(&self, token: &str) -> Result<(), IdentityError> {
        now(self.server.accounts.identify(token, &[])).map(drop)
    }

    fn user(&self, user: &User) -> User {
        now(self.server.accounts.user(&user.id)).unwrap()
    }

    fn last_event(&self) -> String {
        self.server.events().pop().unwrap()
    }

    /// Every record as text.
    fn records(&self) -> String {
        ["sso", "sso-user", "user"]
            .map(|kind| {
                let prefix = gongfu_core::port::RecordKey::new(kind).unwrap();
                let all = now(self.server.records.list(&prefix)).unwrap();
                let values = all.into_iter().map(|(key, record)| {
                    format!(
                        "{}: {}",
                        key.as_str(),
                        String::from_utf8(record.value).unwrap()
                    )
                });
                values.collect::<Vec<_>>().join("\n")
            })
            .join("\n")
    }
}

#[test]
fn first_sign_in_creates_a_user_with_a_free_name() {
    let company = Company::new();
    company.server.register("ann").unwrap();
    let person = ProviderPerson {
        email: Some("Ann.Lee@example.com".to_owned()),
        username: Some("ann@example.com".to_owned()),
        ..provider_person("1", &["skills", "unknown"])
    };
    let user = company.sign_in_as(person.clone()).unwrap();
    assert_eq!(user.username.as_str(), "ann-2");
    assert_eq!(user.email.as_str(), "Ann.Lee@example.com");
    assert!(user.password.is_none() && !user.is_admin);
    assert_eq!(company.last_event(), "sso.create");
    let records = company.records();
    // The refresh token is there, and not for everybody who reads the records.
    assert!(records.contains("refresh_token"), "{records}");
    assert!(!records.contains("refresh-1"), "{records}");
    // The next sign-in is the same user, whatever the provider says of their name.
    let again = ProviderPerson {
        email: Some("other@example.com".to_owned()),
        username: Some("other".to_owned()),
        ..person
    };
    let again = company.sign_in_as(again).unwrap();
    assert_eq!((again.id, again.email), (user.id, user.email));
    assert_eq!(company.last_event(), "sso.sign_in");
    // Names that can't be user names.
    let nameless = ProviderPerson {
        username: Some("李雷".to_owned()),
        ..provider_person("leilei", &[])
    };
    let nameless = company.sign_in_as(nameless).unwrap();
    assert_eq!(nameless.username.as_str(), "leilei");
}

#[test]
fn only_a_user_without_a_password_is_linked() {
    let company = Company::new();
    company.server.register("dora").unwrap();
    company.provider.has(provider_person("dora", &[]));
    assert!(matches!(company.sign_in("dora"), Err(SsoError::Taken)));
    let create = |name: &str| {
        let new = NewUser {
            password: None,
            ..new_user(name)
        };
        now(company.server.accounts.create(new, None)).unwrap()
    };
    let erin = create("erin");
    for (email, is_verified) in [
        (Some("ERIN@example.com"), Some(false)),
        (None, None),
        (Some("no address"), None),
    ] {
        let refused = company.sign_in_as(ProviderPerson {
            email: email.map(str::to_owned),
            is_email_verified: is_verified,
            ..provider_person("erin", &[])
        });
        assert!(matches!(refused, Err(SsoError::Address)), "{refused:?}");
    }
    // A provider that says nothing of proofs has addresses of its own.
    let linked = company.sign_in_as(ProviderPerson {
        email: Some("ERIN@example.com".to_owned()),
        is_email_verified: None,
        ..provider_person("erin", &[])
    });
    assert_eq!(linked.unwrap().id, erin.id);
    assert_eq!(company.last_event(), "sso.link");
    // Another person with the same address.
    let other = ProviderPerson {
        email: Some("erin@example.com".to_owned()),
        ..provider_person("not-erin", &[])
    };
    assert!(matches!(company.sign_in_as(other), Err(SsoError::Taken)));
    let fred = create("fred");
    let disable = |is_active| {
        now(company
            .server
            .accounts
            .set_active(&fred.id, is_active, None))
    };
    company.provider.has(provider_person("fred", &[]));
    disable(false).unwrap();
    assert!(matches!(company.sign_in("fred"), Err(SsoError::Disabled)));
    disable(true).unwrap();
    assert_eq!(company.sign_in("fred").unwrap().id, fred.id);
    disable(false).unwrap();
    assert!(matches!(company.sign_in("fred"), Err(SsoError::Disabled)));
}

#[test]
fn answer_is_good_once_in_its_browser_for_its_sign_in() {
    let company = Company::new();
    for name in ["ann", "mallory"] {
        company.provider.has(provider_person(name, &[]));
    }
    let (mine, theirs) = (
        company.answer("mine", "ann"),
        company.answer("theirs", "mallory"),
    );
    let is_old = |browser: &str, answer: &SsoAnswer| {
        matches!(company.finish(browser, answer), Err(SsoError::Old))
    };
    let is_refused = |browser: &str, answer: &SsoAnswer| {
        matches!(company.finish(browser, answer), Err(SsoError::Refused(_)))
    };
    assert!(is_old("mine", &theirs) && is_old("mine", &SsoAnswer::default()));
    assert!(company.finish("mine", &mine).is_ok() && is_old("mine", &mine));
    assert!(company.finish("theirs", &theirs).is_ok());
    // A code of another sign-in.
    let (one, other) = (
        company.answer("mine", "mallory"),
        company.answer("mine", "ann"),
    );
    let mixed = SsoAnswer {
        code: one.code.clone(),
        ..other
    };
    assert!(is_refused("mine", &mixed));
    // An answer of another provider, one without a code, and one that says no.
    let spoiled: [fn(&mut SsoAnswer); 4] = [
        |answer| answer.issuer = Some("https://other.example".to_owned()),
        |answer| answer.code.clear(),
        |answer| answer.code = "x".repeat(5_000),
        |answer| answer.error = Some("access_denied".to_owned()),
    ];
    for spoil in spoiled {
        let good = company.answer("mine", "ann");
        let mut answer = good.clone();
        spoil(&mut answer);
        assert!(is_refused("mine", &answer), "{answer:?}");
        assert!(is_old("mine", &good), "a refused sign-in begins anew");
    }
    // RFC 9207 is for providers that know it.
    let mut without = company.answer("mine", "ann");
    without.issuer = None;
    assert!(company.finish("mine", &without).is_ok());
    let late = company.answer("mine", "ann");
    company.server.clock.advance(10 * MINUTE);
    assert!(is_old("mine", &late));
}

#[test]
fn groups_decide_the_role_and_the_teams() {
    let company = Company::new();
    let olga = company.sign_in_as(provider_person("olga", &["staff"]));
    let olga = olga.unwrap();
    assert!(olga.is_admin);
    // A server keeps its last admin.
    assert!(
        company
            .sign_in_as(provider_person("olga", &[]))
            .unwrap()
            .is_admin
    );
    let root = company.server.create("root", true);
    let sales = TeamName::new("sales").unwrap();
    now(company.server.accounts.create_team(sales, &root.id, None)).unwrap();
    let teams = || {
        let teams = now(company.server.accounts.teams_of(&olga.id)).unwrap();
        let names = teams.into_iter().map(|team| team.name.to_string());
        names.collect::<Vec<String>>()
    };
    assert!(
        !company
            .sign_in_as(provider_person("olga", &[]))
            .unwrap()
            .is_admin
    );
    assert!(
        company
            .sign_in_as(provider_person("olga", &["staff"]))
            .unwrap()
            .is_admin
    );
    // The same while they are signed in; a provider that says nothing of groups changes nothing.
    let token = company.token(&olga);
    let check = |groups: Option<&[&str]>| {
        company.provider.has(ProviderPerson {
            groups: groups.map(|groups| groups.iter().map(|&group| group.to_owned()).collect()),
            ..provider_person("olga", &[])
        });
        company.server.clock.advance(16 * MINUTE);
        company.identify(&token).unwrap();
        assert_eq!(company.last_event(), "sso.check");
        company.user(&olga).is_admin
    };
    assert!(check(None));
    assert!(!check(Some(&["sales"])));
    assert_eq!(teams(), ["sales"]);
    assert!(!check(None));
    assert_eq!(teams(), ["sales"]);
    assert!(!check(Some(&["skills"])));
    assert_eq!(teams(), Vec::<String>::new());
    // Without such groups, roles are the server's own.
    let company = Company::with(SsoSettings {
        admins: [].into(),
        ..settings()
    });
    assert!(
        !company
            .sign_in_as(provider_person("olga", &["staff"]))
            .unwrap()
            .is_admin
    );
}

#[test]
fn removal_at_the_provider_ends_everything() {
    let company = Company::new();
    let accounts = &company.server.accounts;
    let (ann, bob) = (
        company.ann(),
        company.sign_in_as(provider_person("bob", &[])).unwrap(),
    );
    let token = company.token(&ann);
    let tokens_of_bob = company.token(&bob);
    let browser = now(accounts.begin_browser(&ann, "Firefox", None)).unwrap();
    let family = now(accounts.begin(&ann, None, gongfu_core::account::Scopes::usual(), "x"));
    let family = family.unwrap();
    company.provider.removes("ann");
    company.server.clock.advance(14 * MINUTE);
    company.identify(&token).unwrap();
    assert!(now(accounts.browser(&browser)).unwrap().is_some());
    assert_eq!(company.provider.take_asked(), 0);
    company.server.clock.advance(MINUTE);
    assert!(matches!(
        company.identify(&token),
        Err(IdentityError::Revoked)
    ));
    assert_eq!(company.last_event(), "sso.refuse");
    assert!(now(accounts.browser(&browser)).unwrap().is_none());
    let refreshed = now(accounts.refresh(family.refresh.as_str()));
    assert!(
        matches!(refreshed, Err(SignInError::Ended)),
        "{refreshed:?}"
    );
    assert_eq!(company.provider.take_asked(), 1, "one no is enough");
    // Somebody else goes on, by one question.
    company.identify(&tokens_of_bob).unwrap();
    company.identify(&tokens_of_bob).unwrap();
    assert_eq!(company.provider.take_asked(), 1);
    company.server.clock.advance(15 * MINUTE);
    company.identify(&tokens_of_bob).unwrap();
    assert_eq!(
        company.provider.take_asked(),
        1,
        "by the next refresh token"
    );
    // Back at the provider, tokens count again, and sessions of before don't.
    company.ann();
    company.identify(&token).unwrap();
    assert!(now(accounts.browser(&browser)).unwrap().is_none());
    let refreshed = now(accounts.refresh(family.refresh.as_str()));
    assert!(
        matches!(refreshed, Err(SignInError::Ended)),
        "{refreshed:?}"
    );
}

#[test]
fn provider_that_does_not_answer_counts_for_half_an_hour() {
    let company = Company::new();
    let ann = company.ann();
    let token = company.token(&ann);
    company.provider.is_down(true);
    company.server.clock.advance(15 * MINUTE);
    for _ in 0..3 {
        company.identify(&token).unwrap();
    }
    assert_eq!(
        company.provider.take_asked(),
        1,
        "it is left alone for a moment"
    );
    company.server.clock.advance(15 * MINUTE - 1);
    company.identify(&token).unwrap();
    company.server.clock.advance(1);
    let refused = company.identify(&token);
    let is_unavailable = |refused| {
        matches!(
            refused,
            Err(IdentityError::Store(PortError::Unavailable(_)))
        )
    };
    assert!(is_unavailable(refused));
    company.provider.is_down(false);
    company.server.clock.advance(11 * 1_000);
    company.identify(&token).unwrap();
    // Nor can anybody sign in meanwhile.
    company.provider.is_down(true);
    let begun = now(company.server.accounts.begin_sso("browser", NEXT));
    assert!(matches!(
        begun,
        Err(SsoError::Store(PortError::Unavailable(_)))
    ));
    // A clock that jumps back makes nothing count for longer.
    company.server.clock.advance(-60 * MINUTE);
    assert!(is_unavailable(company.identify(&token)));
}

#[test]
fn without_a_refresh_token_half_an_hour_is_all() {
    let company = Company::new();
    company.provider.gives_no_refresh_token();
    let ann = company.ann();
    let token = company.token(&ann);
    company.server.clock.advance(30 * MINUTE - 1);
    company.identify(&token).unwrap();
    company.server.clock.advance(1);
    assert!(matches!(
        company.identify(&token),
        Err(IdentityError::Revoked)
    ));
    company.ann();
    company.identify(&token).unwrap();
}

#[test]
fn another_key_or_issuer_or_no_provider_is_half_an_hour_too() {
    let company = Company::new();
    let ann = company.ann();
    let token = company.token(&ann);
    let records = || Arc::clone(&company.server.records);
    let elsewhere = SsoSettings {
        issuer: "https://other.example".to_owned(),
        ..settings()
    };
    let others = [
        Company::over(2, records(), settings(), Arc::clone(&company.provider)),
        Company::over(1, records(), elsewhere, Arc::clone(&company.provider)),
        Company {
            server: Server::with(1, records()),
            provider: Arc::default(),
        },
    ];
    for other in others {
        other.server.clock.advance(29 * MINUTE);
        other.identify(&token).unwrap();
        other.server.clock.advance(MINUTE);
        assert!(matches!(
            other.identify(&token),
            Err(IdentityError::Revoked)
        ));
    }
    assert_eq!(company.provider.take_asked(), 0);
    // The control: the same server asks.
    company.server.clock.advance(31 * MINUTE);
    company.identify(&token).unwrap();
}

#[test]
fn passwords_can_be_switched_off() {
    let company = Company::with(SsoSettings {
        passwords: false,
        ..settings()
    });
    let accounts = &company.server.accounts;
    let dora = company.server.create("dora", false);
    let sign_in = |accounts: &gongfu_core::registry::Accounts| {
        now(accounts.sign_in("dora", PASSWORD.to_owned())).map(drop)
    };
    assert!(matches!(sign_in(accounts), Err(SignInError::PasswordsOff)));
    let register = company.server.register("new");
    assert!(matches!(register, Err(AccountError::PasswordsOff)));
    let link = now(accounts.create_link(&dora.id, None));
    assert!(matches!(link, Err(AccountError::PasswordsOff)));
    let checked = now(accounts.check_password(&dora.id, PASSWORD.to_owned()));
    assert!(matches!(checked, Err(AccountError::PasswordsOff)));
    company.ann();
    let other = Company::over(
        1,
        Arc::clone(&company.server.records),
        settings(),
        Arc::default(),
    );
    sign_in(&other.server.accounts).unwrap();
    now(other.server.accounts.create_link(&dora.id, None)).unwrap();
    other.server.register("new").unwrap();
}

#[test]
fn password_does_not_bring_back_whom_the_provider_refuses() {
    let company = Company::new();
    let ann = company.ann();
    let accounts = &company.server.accounts;
    now(accounts.set_password(&ann.id, PASSWORD.to_owned(), None)).unwrap();
    let sign_in = || now(accounts.sign_in("ann", PASSWORD.to_owned())).map(drop);
    sign_in().unwrap();
    company.provider.removes("ann");
    company.server.clock.advance(15 * MINUTE);
    assert!(matches!(sign_in(), Err(SignInError::Refused)));
}

#[test]
fn deleted_user_is_forgotten() {
    let company = Company::new();
    let ann = company.ann();
    now(company.server.accounts.delete(&ann.id, None)).unwrap();
    assert_eq!(company.records().trim(), "");
    let again = company.ann();
    assert_ne!(again.id, ann.id);
    assert_eq!(again.username.as_str(), "ann");
}
