//! A search as a name and numbers by name: how it travels to workers. Each search lists its settings
//! once, for writing and for reading, so that none can be forgotten on one side.

use super::params::{ParamError, SearchSpec};
use thiserror::Error;

/// Why a name and numbers are not a search.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SettingsError {
    /// No search has that name.
    #[error("there is no search \"{0}\"")]
    UnknownSearch(String),
    /// A setting is missing.
    #[error("the search lacks its setting \"{0}\"")]
    Missing(&'static str),
    /// A setting can't have that value.
    #[error("the setting \"{name}\" cannot be {value}")]
    Value {
        /// Which one.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The settings contradict the search's rules.
    #[error(transparent)]
    Param(#[from] ParamError),
}

/// Goes through the settings of a search: either writes them all down or takes them all.
pub(crate) trait Visitor {
    fn number(&mut self, name: &'static str, value: &mut f64) -> Result<(), SettingsError>;

    fn whole(&mut self, name: &'static str, value: &mut u64) -> Result<(), SettingsError> {
        #[expect(clippy::cast_precision_loss, reason = "checked on the way back")]
        let mut number = *value as f64;
        self.number(name, &mut number)?;
        // Beyond 2^53 not every whole number is one that travels.
        let fits = (0.0..=9_007_199_254_740_992.0).contains(&number);
        if !fits || number.fract() > 0.0 {
            return Err(SettingsError::Value {
                name,
                value: number,
            });
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        let whole = number as u64;
        *value = whole;
        Ok(())
    }

    fn size(&mut self, name: &'static str, value: &mut usize) -> Result<(), SettingsError> {
        let mut whole = *value as u64;
        self.whole(name, &mut whole)?;
        *value = usize::try_from(whole).unwrap_or(usize::MAX);
        Ok(())
    }

    fn optional(
        &mut self,
        name: &'static str,
        value: &mut Option<f64>,
    ) -> Result<(), SettingsError> {
        // None of these settings can be negative.
        let mut number = value.unwrap_or(-1.0);
        self.number(name, &mut number)?;
        *value = (number >= 0.0).then_some(number);
        Ok(())
    }
}

impl dyn Visitor + '_ {
    /// A choice between two, as 0 and 1.
    pub(crate) fn choice<T: Copy + PartialEq>(
        &mut self,
        name: &'static str,
        value: &mut T,
        of: [T; 2],
    ) -> Result<(), SettingsError> {
        let mut number = u64::from(*value == of[1]);
        self.whole(name, &mut number)?;
        *value = *usize::try_from(number)
            .ok()
            .and_then(|at| of.get(at))
            .ok_or(SettingsError::Value {
                name,
                #[expect(clippy::cast_precision_loss, reason = "shown in a message")]
                value: number as f64,
            })?;
        Ok(())
    }
}

struct Writer(Vec<(&'static str, f64)>);

impl Visitor for Writer {
    fn number(&mut self, name: &'static str, value: &mut f64) -> Result<(), SettingsError> {
        self.0.push((name, *value));
        Ok(())
    }
}

struct Reader<'a>(&'a [(String, f64)]);

impl Visitor for Reader<'_> {
    fn number(&mut self, name: &'static str, value: &mut f64) -> Result<(), SettingsError> {
        let found = self.0.iter().find(|(known, _)| known == name);
        let (_, number) = found.ok_or(SettingsError::Missing(name))?;
        if number.is_nan() {
            return Err(SettingsError::Value {
                name,
                value: *number,
            });
        }
        *value = *number;
        Ok(())
    }
}

impl SearchSpec {
    /// Returns the settings by name.
    #[must_use]
    pub fn settings(&self) -> Vec<(&'static str, f64)> {
        let mut spec = *self;
        let mut writer = Writer(Vec::new());
        // Writing takes every value as it is.
        let _ = spec.params_mut().visit(&mut writer);
        writer.0
    }

    /// Makes a search of its name and settings.
    ///
    /// # Errors
    /// If there is no such search, or a setting is missing or out of range.
    pub fn from_settings(name: &str, settings: &[(String, f64)]) -> Result<Self, SettingsError> {
        let mut spec = Self::defaults()
            .into_iter()
            .find(|spec| spec.name() == name)
            .ok_or_else(|| SettingsError::UnknownSearch(name.to_owned()))?;
        spec.params_mut().visit(&mut Reader(settings))?;
        spec.check()?;
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::baseline::WeedsParams;
    use crate::search::rlbayes::{Learning, RlBayesParams};

    fn owned(settings: Vec<(&'static str, f64)>) -> Vec<(String, f64)> {
        settings
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    #[test]
    fn every_search_survives_the_round_trip() {
        let mut changed = SearchSpec::defaults().to_vec();
        changed.push(SearchSpec::RlBayes(RlBayesParams {
            theta: 0.25,
            learning: Learning::Off,
            stall: 7,
            ..Default::default()
        }));
        changed.push(SearchSpec::Weeds(WeedsParams {
            spread_first: Some(0.0),
            ..Default::default()
        }));
        for spec in changed {
            let settings = owned(spec.settings());
            assert_eq!(SearchSpec::from_settings(spec.name(), &settings), Ok(spec));
            for at in 0..settings.len() {
                let mut fewer = settings.clone();
                fewer.remove(at);
                assert!(matches!(
                    SearchSpec::from_settings(spec.name(), &fewer),
                    Err(SettingsError::Missing(_))
                ));
            }
        }
    }

    #[test]
    fn settings_that_no_search_can_have_are_refused() {
        for (name, value) in [
            ("theta", 1.5),
            ("theta", f64::NAN),
            ("table_rows", 2.5),
            ("table_rows", -1.0),
            ("stall", 1e300),
            ("learning", 2.0),
        ] {
            let mut settings = owned(SearchSpec::defaults()[0].settings());
            let place = settings.iter_mut().find(|(known, _)| known == name);
            place.unwrap().1 = value;
            assert!(
                SearchSpec::from_settings("rlbayes", &settings).is_err(),
                "{name} {value}"
            );
        }
        assert!(SearchSpec::from_settings("magic", &[]).is_err());
    }
}
