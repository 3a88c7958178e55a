//! Skills that a maintainer shares with a team.

use gongfu_core::account::TeamRole;
use gongfu_core::archive::ArchiveFile;
use gongfu_hub::surface::skill_edit::{FileChange, StoredSkillEdit, StoredSkillImport};
use gongfu_hub::surface::stored_skill::{StoredSkillDownload, StoredSkillList};
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;

use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal};
use super::skill::{CONFLICT, FULL, INVALID, PATH, SkillReply, WRITE, in_body};
use super::team_access::{of, team_path};
use crate::problem::Problem;

/// Copy a skill that you see into a team that you maintain. All its members see it then.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamSkillShare {
    /// The id of the team.
    #[schemars(length(min = 1, max = 64))]
    team: String,
    /// The id of the skill.
    #[schemars(length(min = 1, max = 64))]
    skill: String,
    /// True to replace the team's skill of the same name, if there is one.
    #[serde(default)]
    replace: bool,
}

impl Endpoint for TeamSkillShare {
    const NAME: &'static str = "team_skill_share";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/teams/{team}/skills/share";
    const ACCESS: Access = WRITE;
    const SUCCESS: StatusCode = StatusCode::CREATED;
    const REFUSALS: &'static [Refusal] = &[Refusal::NOT_FOUND, CONFLICT, INVALID, FULL];
    type Reply = SkillReply;

    async fn answer(self, context: &Context) -> Result<Answer<SkillReply>, Problem> {
        let user = &context.identity()?.user;
        let team = of(context.accounts()?, &self.team, user, TeamRole::Maintainer).await?;
        let (catalog, actor) = (context.catalog(), context.user_actor()?);
        let download = StoredSkillDownload { skill: self.skill };
        let shared = catalog.operate(download, &actor).await;
        let (shared, files) = shared.map_err(|error| in_body(error.into()))?;
        let put = |file: ArchiveFile| FileChange::put(file.path, file.bytes, file.is_executable);
        let files = files.into_iter().map(put).collect();
        let team_actor = actor.for_team(team.id.clone());
        let known = if self.replace {
            let listed = catalog.operate(StoredSkillList {}, &team_actor).await?;
            let mut listed = listed.into_iter();
            listed.find(|known| known.skill.name == shared.skill.name)
        } else {
            None
        };
        let stored = match known {
            None => {
                let import = StoredSkillImport { files };
                catalog.operate(import, &team_actor).await?
            }
            Some(known) => {
                let edit = StoredSkillEdit {
                    skill: known.id,
                    expected: None,
                    files,
                    is_whole: true,
                };
                catalog.operate(edit, &team_actor).await?
            }
        };
        let location = team_path(&format!("{PATH}/{}", stored.id), team.id.as_str());
        Ok(Answer::from(stored).location(location))
    }
}
