//! The paths of the pages, and the pages that a sign-in may lead to.

pub(super) const STYLE: &str = "/assets/style.css";
pub(super) const LOGIN: &str = "/login";
pub(super) const SSO: &str = "/login/sso";
pub(crate) const LOGOUT: &str = "/logout";
pub(super) const INVITE: &str = "/invite/{secret}";
pub(super) const JOIN: &str = "/join/{secret}";
pub(super) const ACCOUNT: &str = "/account";
pub(super) const TEAM: &str = "/account/team";
pub(super) const PASSWORD: &str = "/account/password";
pub(super) const TOKEN: &str = "/account/token";
pub(super) const END: &str = "/account/end";
/// The endpoint at which a client is allowed.
pub(crate) const AUTHORIZE: &str = "/authorize";
/// The longest address that a sign-in leads to.
const MAX_NEXT: usize = 16 * 1024;

/// The path of the sign-in that leads to another page.
pub(crate) fn login_for(next: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("next", next);
    format!("{LOGIN}?{}", query.finish())
}

/// The path of the sign-in by a provider that leads to another page.
pub(super) fn sso_for(next: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("next", next);
    format!("{SSO}?{}", query.finish())
}

/// The page that a sign-in leads to: one of this server, from a closed list.
pub(super) fn next(asked: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\\\"<>".contains(&byte);
    let is_good = is_authorize(asked) && asked.len() <= MAX_NEXT && asked.bytes().all(is_plain);
    if is_good {
        asked.to_owned()
    } else {
        ACCOUNT.to_owned()
    }
}

/// Returns true for the path of an authorization request.
pub(super) fn is_authorize(path: &str) -> bool {
    let rest = path.strip_prefix(AUTHORIZE);
    rest.is_some_and(|rest| rest.starts_with('?'))
}
