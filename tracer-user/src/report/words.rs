//! The contract's words as text: codes, severities and confidences print as JSON has them.

use std::fmt;

use serde::Serialize;

use super::model::{Code, Confidence, Severity};

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_prints_as_json_has_it() {
        assert_eq!(
            Code::WriteSmallerThanBlock.to_string(),
            "write_smaller_than_block"
        );
        assert_eq!(format!("{}/{}", Severity::Ok, Confidence::High), "ok/high");
    }
}
