//! The sets of the settings file, as it is now.

use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::account::Actor;
use gongfu_core::set::{CapabilitySet, SetChoice, Sets};
use gongfu_files::Home;

use crate::config::Config;
use crate::failure::Failure;
use crate::stamp::FileStamp;
use crate::terminal::plain;

/// The sets of the settings file: an edit of it holds from the next request on.
#[derive(Debug)]
pub(crate) struct ConfiguredSets {
    home: Home,
    last: Mutex<Option<(Option<FileStamp>, SetList)>>,
}

/// The sets by name, or why there are none.
type SetList = Result<Vec<(String, Arc<CapabilitySet>)>, String>;

impl ConfiguredSets {
    pub(crate) fn new(home: &Home) -> Self {
        Self {
            home: home.clone(),
            last: Mutex::default(),
        }
    }

    fn read(&self) -> SetList {
        let config = Config::read(&self.home);
        let config = config.map_err(|error| format!("the settings can't be read: {error}"))?;
        let sets = config.sets.into_iter();
        let sets = sets.map(|(name, members)| Ok((name, Arc::new(CapabilitySet::new(members)?))));
        sets.collect()
    }
}

impl Sets for ConfiguredSets {
    fn find(&self, name: &str) -> Result<Arc<CapabilitySet>, String> {
        let stamp = FileStamp::of(&self.home.config());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(known, _)| *known != stamp) {
            *last = None;
        }
        let (_, all) = last.get_or_insert_with(|| (stamp, self.read()));
        let all = all.as_ref().map_err(String::clone)?;
        if let Some((_, set)) = all.iter().find(|(known, _)| known == name) {
            return Ok(Arc::clone(set));
        }
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        let name = plain(name);
        Err(match names.as_slice() {
            [] => format!("there is no set `{name}`: `[sets]` of the settings has none"),
            names => format!("there is no set `{name}`; there are {}", names.join(", ")),
        })
    }
}

/// The choice of a set by its name.
///
/// # Errors
/// No set has that name.
pub(crate) fn choice(name: Option<&str>, home: &Home) -> Result<Option<SetChoice>, Failure> {
    let Some(name) = name else {
        return Ok(None);
    };
    let sets: Arc<dyn Sets> = Arc::new(ConfiguredSets::new(home));
    if let Err(why) = sets.find(name) {
        let hint = "name a set of `[sets]`; `gongfu config show` lists them";
        return Err(Failure::usage("SET_NOT_FOUND", why, hint));
    }
    let name = name.to_owned();
    Ok(Some(SetChoice { sets, name }))
}

/// The same person, who works with a set.
///
/// # Errors
/// No set has that name.
pub(crate) fn working_with(
    mut actor: Actor,
    name: Option<&str>,
    home: &Home,
) -> Result<Actor, Failure> {
    actor.permissions.set = choice(name, home)?.map(|choice| choice.set());
    Ok(actor)
}
