//! A good request of each endpoint.

use serde_json::{Value, json};

use super::super::PASSWORD;
use super::Fixture;

impl Fixture {
    /// A good request of an endpoint: its path and its body. A new endpoint needs one here.
    pub(super) fn sample(&self, name: &str) -> (String, Value) {
        let with_path = |path: String| (path, Value::Null);
        let bob = self.bob.id.as_str();
        let of_user = name
            .strip_prefix("team_")
            .filter(|_| name != "team_skill_share");
        let of_user = of_user.filter(|name| {
            let mut families = ["skill_", "file_", "audit_"].into_iter();
            families.any(|family| name.starts_with(family))
        });
        if let Some(of_user) = of_user {
            let (path, body) = self.sample(of_user);
            let path = path.replace(&self.skill, &self.team_skill);
            let is_team = path.starts_with("/api/v1/teams");
            let team = format!("/api/v1/teams/{}", self.team.as_str());
            let for_team = || path.replacen("/api/v1", &team, 1);
            return (if is_team { path.clone() } else { for_team() }, body);
        }
        match name {
            "auth_register" => (
                "/api/v1/auth/register".to_owned(),
                json!({ "email": "cid@example.com", "username": "cid", "password": PASSWORD }),
            ),
            "auth_login" => (
                "/api/v1/auth/login".to_owned(),
                json!({ "email": "zoe@example.com", "password": PASSWORD }),
            ),
            "auth_refresh" => (
                "/api/v1/auth/refresh".to_owned(),
                json!({ "refresh_token": self.refresh }),
            ),
            "auth_logout" => (
                "/api/v1/auth/logout".to_owned(),
                json!({ "refresh_token": self.refresh }),
            ),
            "user_read" => with_path("/api/v1/users/me".to_owned()),
            "user_change" => ("/api/v1/users/me".to_owned(), json!({ "username": "anna" })),
            "user_delete" => (
                "/api/v1/users/me".to_owned(),
                json!({ "password": PASSWORD }),
            ),
            "password_change" => (
                "/api/v1/users/me/password".to_owned(),
                json!({ "current_password": PASSWORD, "new_password": "other unrelated words" }),
            ),
            "token_list" => with_path("/api/v1/tokens".to_owned()),
            "token_create" => ("/api/v1/tokens".to_owned(), json!({ "name": "laptop" })),
            "token_revoke" => with_path(format!("/api/v1/tokens/{}", self.token_id)),
            "tool_list" => with_path("/api/v1/tools".to_owned()),
            "tool_call" => ("/api/v1/tools/skill_list".to_owned(), json!({})),
            "capability_list" => with_path("/api/v1/capabilities?kind=skill".to_owned()),
            "skill_find" => with_path("/api/v1/search?q=pdf".to_owned()),
            "skill_list" => with_path("/api/v1/skills".to_owned()),
            "skill_create" => (
                "/api/v1/skills".to_owned(),
                json!({ "name": "png-tools", "description": "Shrinks PNG files." }),
            ),
            "skill_read" | "skill_delete" => with_path(self.skill.clone()),
            "skill_change" => (self.skill.clone(), json!({ "description": "Fills forms." })),
            "skill_activate" => with_path(format!("{}/activate", self.skill)),
            "skill_deactivate" => with_path(format!("{}/deactivate", self.skill)),
            "skill_download" => with_path(format!("{}/download", self.skill)),
            "file_list" => with_path(format!("{}/files", self.skill)),
            "file_read" | "file_delete" => with_path(format!("{}/files/hello.txt", self.skill)),
            "file_write" => (
                format!("{}/files/new/file.txt", self.skill),
                json!({ "a": 1 }),
            ),
            "skill_upload" => ("/api/v1/skills/upload".to_owned(), Value::Null),
            "connection_list" => with_path("/api/v1/connections".to_owned()),
            "connection_read" => with_path("/api/v1/connections/echo".to_owned()),
            "approval_list" => with_path("/api/v1/approvals".to_owned()),
            "approval_answer" => (
                format!("/api/v1/approvals/{}", self.approval),
                json!({ "decision": "deny" }),
            ),
            "approval_revoke" => with_path(format!("/api/v1/approvals/{}", self.approval)),
            "audit_read" => with_path("/api/v1/audit".to_owned()),
            "server_audit_read" => with_path("/api/v1/admin/audit".to_owned()),
            "server_audit_verify" => with_path("/api/v1/admin/audit/verify".to_owned()),
            "account_list" => with_path("/api/v1/admin/users".to_owned()),
            "account_create" => (
                "/api/v1/admin/users".to_owned(),
                json!({ "email": "cid@example.com", "username": "cid", "password": PASSWORD }),
            ),
            "account_enable" => with_path(format!("/api/v1/admin/users/{bob}/enable")),
            "account_disable" => with_path(format!("/api/v1/admin/users/{bob}/disable")),
            "account_read" | "account_delete" => with_path(format!("/api/v1/admin/users/{bob}")),
            "account_invite" => (
                "/api/v1/admin/invitations".to_owned(),
                json!({ "is_superuser": true }),
            ),
            "account_link" => with_path(format!("/api/v1/admin/users/{bob}/link")),
            "quota_read" => with_path(format!("/api/v1/admin/users/{bob}/quota")),
            "quota_set" => (
                format!("/api/v1/admin/users/{bob}/quota"),
                json!({ "skills": 3 }),
            ),
            other => self.agent_sample(other),
        }
    }

    /// The same of an endpoint of the agent.
    fn agent_sample(&self, name: &str) -> (String, Value) {
        let with_path = |path: &str| (path.to_owned(), Value::Null);
        match name {
            "agent_chat" => ("/api/v1/agent/chat".to_owned(), json!({ "prompt": "x" })),
            "agent_task" => (
                "/api/v1/agent/task".to_owned(),
                json!({ "name": "demonstration" }),
            ),
            "agent_tool" => (
                "/api/v1/agent/tool".to_owned(),
                json!({ "name": "skill_list" }),
            ),
            "agent_capabilities" => with_path("/api/v1/agent/capabilities"),
            "agent_session_list" => with_path("/api/v1/agent/sessions"),
            "agent_session_read" | "agent_session_remove" => {
                // The fake agent has one session of each user.
                let id = self.ann.id.as_str();
                (format!("/api/v1/agent/sessions/{id}"), Value::Null)
            }
            "chat_completion" => (
                "/v1/chat/completions".to_owned(),
                json!({ "model": "gongfu", "messages": [{ "role": "user", "content": "x" }] }),
            ),
            "model_list" => with_path("/v1/models"),
            "model_read" => with_path("/v1/models/fake/one"),
            other => self.team_sample(other),
        }
    }

    /// The same of an endpoint about teams.
    fn team_sample(&self, name: &str) -> (String, Value) {
        let with_path = |path: String| (path, Value::Null);
        let bob = self.bob.id.as_str();
        let team = format!("/api/v1/teams/{}", self.team.as_str());
        let member = format!("members/{}", self.zoe.id.as_str());
        match name {
            "team_list" => with_path("/api/v1/teams".to_owned()),
            "team_create" => ("/api/v1/teams".to_owned(), json!({ "name": "sales" })),
            "team_read" | "team_delete" => with_path(team),
            "team_rename" => (team, json!({ "name": "art" })),
            "team_invite" => (
                format!("{team}/invitations"),
                json!({ "role": "maintainer" }),
            ),
            "team_invitation_delete" => {
                with_path(format!("{team}/invitations/{}", self.invitation.id()))
            }
            "team_join" => (
                "/api/v1/teams/join".to_owned(),
                json!({ "invitation": self.join.as_str() }),
            ),
            "member_change" => (format!("{team}/{member}"), json!({ "role": "maintainer" })),
            "member_remove" => with_path(format!("{team}/{member}")),
            "team_skill_share" => {
                let skill = self.skill.rsplit('/').next();
                (
                    format!("{team}/skills/share"),
                    json!({ "skill": skill, "replace": true }),
                )
            }
            "server_team_list" => with_path("/api/v1/admin/teams".to_owned()),
            "server_team_delete" => with_path(team.replace("/api/v1", "/api/v1/admin")),
            "server_member_change" => (
                format!("{}/members/{bob}", team.replace("/api/v1", "/api/v1/admin")),
                json!({ "role": "member" }),
            ),
            other => self.grant_sample(other),
        }
    }

    /// The same of an endpoint about grants.
    fn grant_sample(&self, name: &str) -> (String, Value) {
        let [own, team] = &self.grants;
        let (skill, grant, grants) = if name.starts_with("team_") {
            let team_path = format!("/api/v1/teams/{}/grants", self.team.as_str());
            (&self.team_skill, team, team_path)
        } else {
            (&self.skill, own, "/api/v1/grants".to_owned())
        };
        match name.trim_start_matches("team_") {
            "grant_list" => (grants, Value::Null),
            "grant_create" => {
                let skill = skill.rsplit('/').next();
                (grants, json!({ "skill": skill, "host": "example.com" }))
            }
            "grant_delete" => (format!("{grants}/{grant}"), Value::Null),
            other => panic!("add a sample of the endpoint {other}"),
        }
    }
}
