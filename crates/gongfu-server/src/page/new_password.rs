//! A new password in a form.

use gongfu_core::account::password::PasswordError;
use maud::{Markup, html};

use super::text::Text;
use super::visit::Visit;

/// The two fields of a new password.
pub(super) fn new_password_fields(visit: &Visit) -> Markup {
    html! {
        label for="new" { (visit.text(Text::NewPassword)) }
        input id="new" name="password" type="password" autocomplete="new-password" minlength="8" maxlength="128" required aria-describedby="new-help";
        p.help id="new-help" { (visit.text(Text::PasswordHelp)) }
        label for="again" { (visit.text(Text::NewPasswordAgain)) }
        input id="again" name="again" type="password" autocomplete="new-password" minlength="8" maxlength="128" required;
    }
}

/// Why a password isn't taken, for its user.
pub(super) fn password_text(error: PasswordError) -> Text {
    match error {
        PasswordError::Short => Text::PasswordShort,
        PasswordError::Long => Text::PasswordLong,
        PasswordError::Common => Text::PasswordCommon,
        PasswordError::Name => Text::PasswordName,
    }
}
