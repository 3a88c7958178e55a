//! The texts of the pages, in each language.

use gongfu_core::account::Scope;

use super::language::Language;

/// Makes the table of texts: each has a name, and itself in English and in Chinese.
macro_rules! texts {
    ($($name:ident: $english:literal, $chinese:literal;)+) => {
        /// A text of the pages. `{}` is where a value comes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Text {
            $(#[doc = $english] $name,)+
        }

        impl Text {
            #[cfg(test)]
            const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The text in a language.
            pub(crate) fn of(self, language: Language) -> &'static str {
                match (self, language) {
                    $((Self::$name, Language::English) => $english,
                    (Self::$name, Language::Chinese) => $chinese,)+
                }
            }
        }
    };
}

texts! {
    // All pages.
    Skip: "Skip to content", "跳到正文";
    SignedInAs: "Signed in as {}", "已登录：{}";
    LogOut: "Sign out", "退出登录";
    Languages: "Language", "语言";
    Fault: "The server can't answer right now. Try again in a moment.", "服务器暂时无法响应，请稍后再试。";
    Wait: "Too many attempts. Try again in {} seconds.", "尝试次数过多，请在 {} 秒后重试。";
    FormForeign: "This form is too old or comes from another site. Open the page again.", "此表单已过期或来自其他网站，请重新打开页面。";
    FormMalformed: "The form isn't complete. Open the page again.", "表单不完整，请重新打开页面。";
    Back: "Back", "返回";
    Problem: "That didn't work", "操作未成功";

    // Sign-in.
    SignIn: "Sign in", "登录";
    NameOrEmail: "User name or e-mail", "用户名或邮箱";
    Password: "Password", "密码";
    SignInWrong: "The name or the password is wrong.", "用户名或密码错误。";
    SignInHelp: "No password, or forgotten? An admin can give you a link to set one.", "没有密码或忘记密码？管理员可以给你一个设置密码的链接。";
    Continue: "Continue", "继续";
    SignedIn: "You are signed in", "你已登录";
    LeftDone: "You are signed out.", "你已退出登录。";
    PasswordSetDone: "The password is set. Sign in with it.", "密码已设置，请用它登录。";

    // Sign-in by a provider. `{}` is its name.
    SignInWith: "Sign in with {}", "使用 {} 登录";
    PasswordsOff: "This server takes no passwords. Sign in by your company's provider.", "此服务器已关闭密码登录，请使用公司的身份提供方登录。";
    SsoOff: "This server has no sign-in by a provider.", "此服务器未配置身份提供方登录。";
    SsoOld: "This sign-in is too old, or began in another browser. Start again.", "此登录已过期或始于其他浏览器，请重新开始。";
    SsoRefused: "{} didn't sign you in, or its answer can't be accepted:", "{} 未能让你登录，或其响应无法接受：";
    SsoAddress: "{} gives no verified e-mail address of yours, and an account needs one. Ask its admin.", "{} 未提供你已验证的邮箱地址，而账户需要它，请联系其管理员。";
    SsoTaken: "An account with your e-mail address is here already, so {} can't sign you in to it. Sign in with its password, or ask an admin.", "此处已有使用你邮箱地址的账户，因此 {} 无法让你登录该账户。请用其密码登录，或联系管理员。";
    SsoDisabled: "An admin disabled your account here.", "管理员已停用你在此处的账户。";
    SsoUnavailable: "{} doesn't answer right now. Try again in a moment.", "{} 暂时没有响应，请稍后再试。";

    // Consent.
    Consent: "Allow access?", "允许访问吗？";
    ConsentNamed: "{} wants to use gongfu as you.", "{} 想以你的身份使用 gongfu。";
    Unnamed: "A program without a name", "一个未命名的程序";
    Program: "Program", "程序";
    AnswerGoesTo: "The answer goes to", "结果将发送到";
    Identity: "Identity", "身份";
    IdentityDocument: "Published by {}", "由 {} 发布";
    IdentityRegistered: "Not verified: the name is its own claim", "未经验证：名称由该程序自称";
    TargetLocal: "a program on this device", "本设备上的程序";
    ConsentLocal: "Any program on this device can pretend to be this one. Allow it only if you have just started it.", "本设备上的任何程序都可以冒充它。仅当你刚刚启动它时才允许。";
    ConsentUnverified: "Allow it only if you have just started the sign-in yourself and know this address.", "仅当登录是你自己刚刚发起、并且你认识这个地址时才允许。";
    ItMay: "It may", "它可以";
    Allow: "Allow", "允许";
    Deny: "Deny", "拒绝";
    NotYou: "Use another account", "使用其他账户";
    RequestOld: "This request is too old. Start again in the program.", "此请求已过期，请在程序中重新开始。";
    RequestBad: "This sign-in request can't be answered", "无法处理此登录请求";
    RequestBadHelp: "The program sent something wrong, and nothing was passed on to it. Start again there, or tell its makers:", "程序发送的内容有误，没有向它传递任何信息。请在程序中重新开始，或告知其开发者：";
    ScopeRead: "find and read your skills and files", "查找和阅读你的技能与文件";
    ScopeWrite: "create, change and delete your skills and files", "创建、修改和删除你的技能与文件";
    ScopeRun: "run commands of your skills", "运行你的技能中的命令";
    ScopeAdmin: "manage users and the server", "管理用户和服务器";

    // Links.
    SetPassword: "Set your password", "设置密码";
    SetPasswordFor: "For {}", "账户：{}";
    NewPassword: "New password", "新密码";
    NewPasswordAgain: "New password again", "再次输入新密码";
    PasswordHelp: "At least 8 characters; 15 or more are better. Several unrelated words are easy to remember.", "至少 8 个字符，15 个以上更好。几个不相关的词组合起来容易记住。";
    PasswordsDiffer: "The two passwords are different.", "两次输入的密码不一致。";
    PasswordShort: "A password has at least 8 characters.", "密码至少需要 8 个字符。";
    PasswordLong: "A password has at most 128 characters.", "密码最多 128 个字符。";
    PasswordCommon: "This password is on the lists that attackers try first. Use several unrelated words.", "该密码在攻击者最先尝试的列表中，请使用几个不相关的词。";
    PasswordName: "A password isn't the user name or the e-mail address.", "密码不能是用户名或邮箱地址。";
    Save: "Save", "保存";
    CreateAccount: "Create your account", "创建账户";
    JoinHelp: "You are invited to this server. The link is good for one account.", "你受邀使用此服务器，此链接只能创建一个账户。";
    JoinedDone: "Your account is ready. Sign in to it.", "账户已创建，请登录。";
    EmailWrong: "This isn't an e-mail address.", "这不是有效的邮箱地址。";
    EmailTaken: "An account has this e-mail address already.", "已有账户使用此邮箱地址。";
    UsernameWrong: "A user name has 3 to 64 letters, digits, dots, hyphens or underscores.", "用户名为 3 到 64 个字母、数字、点、连字符或下划线。";
    UsernameTaken: "An account has this user name already.", "此用户名已被使用。";
    LinkOver: "This link was used or has expired. Ask an admin for another one.", "此链接已使用或已过期，请向管理员索取新的链接。";

    // Account.
    Account: "Your account", "你的账户";
    Profile: "Profile", "个人资料";
    Username: "User name", "用户名";
    Email: "E-mail", "邮箱";
    IsAdmin: "Role", "角色";
    Admin: "Admin", "管理员";
    ChangePassword: "Change password", "修改密码";
    CurrentPassword: "Current password", "当前密码";
    CurrentPasswordWrong: "The current password is another one.", "当前密码不正确。";
    PasswordEnds: "All other sessions and connected apps are signed out. API tokens stay.", "其他所有会话和已连接的应用都会退出登录，API 令牌保留。";
    PasswordDone: "The password is changed.", "密码已修改。";
    Tokens: "API tokens", "API 令牌";
    TokensHelp: "For programs that can't sign in with a browser.", "用于无法通过浏览器登录的程序。";
    TokenName: "Name", "名称";
    TokenScopes: "Permissions", "权限";
    TokenExpiry: "Expires", "有效期";
    Days: "after {} days", "{} 天后";
    Never: "never", "永不过期";
    CreateToken: "Create token", "创建令牌";
    TokenNew: "Your new token", "你的新令牌";
    TokenOnce: "Copy it now: it is shown this once.", "请立即复制：它只显示这一次。";
    Revoke: "Revoke", "撤销";
    RevokeNamed: "Revoke {}", "撤销 {}";
    TokenDone: "The token is revoked.", "令牌已撤销。";
    Connections: "Connected apps", "已连接的应用";
    ConnectionDone: "The app is disconnected.", "应用已断开连接。";
    Sessions: "Browser sessions", "浏览器会话";
    ThisSession: "this one", "当前会话";
    SessionDone: "The session is ended.", "会话已结束。";
    Teams: "Teams", "团队";
    TeamsHelp: "Members see the skills of a team. Its maintainers change them, and invite others.", "成员可以看到团队的技能，维护者可以修改技能并邀请他人。";
    TeamMember: "member", "成员";
    TeamMaintainer: "maintainer", "维护者";
    TeamSkills: "skills as {}/NAME", "技能名为 {}/名称";
    Leave: "Leave", "退出";
    LeaveNamed: "Leave {}", "退出 {}";
    LeftTeam: "You left the team.", "你已退出团队。";
    JoinTeam: "Join", "加入";
    JoinedTeam: "You are in the team.", "你已加入团队。";
    Invitation: "Invitation to a team", "团队邀请码";
    InvitationOver: "This invitation was used, taken back or has expired.", "此邀请码已使用、已撤回或已过期。";
    Nothing: "None.", "暂无。";
    Since: "since {}", "始于 {}";
    LastSeen: "last seen {}", "最近活动 {}";
    Until: "until {}", "有效至 {}";
    Expired: "expired", "已过期";
    UnknownBrowser: "Unknown browser", "未知浏览器";
    Gone: "That is gone already.", "该项已不存在。";
}

/// A scope in words.
pub(crate) fn scope_text(scope: Scope) -> Text {
    match scope {
        Scope::SkillsRead => Text::ScopeRead,
        Scope::SkillsWrite => Text::ScopeWrite,
        Scope::SkillsRun => Text::ScopeRun,
        Scope::Admin => Text::ScopeAdmin,
    }
}

#[cfg(test)]
mod tests {
    use super::{Language, Text};

    #[test]
    fn every_text_is_there_in_each_language() {
        for text in Text::ALL {
            let [english, chinese] = Language::ALL.map(|language| text.of(language));
            assert!(english.is_ascii() && !english.is_empty(), "{text:?}");
            let is_chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
            assert!(
                chinese.contains(is_chinese) || chinese.contains("{}"),
                "{text:?}"
            );
            assert_eq!(
                english.matches("{}").count(),
                chinese.matches("{}").count(),
                "{text:?}"
            );
        }
    }
}
