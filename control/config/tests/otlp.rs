//! `[control.otlp]`, in builds that cannot push metrics. `control/gateway/tests/otlp.rs` tests those that can.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use config::{ConfigError, Gateway, parse};

fn gateway(table: &str) -> Result<Gateway, ConfigError> {
    let ports = "[[port]]\nname = \"a\"\nrate = \"1G\"\n[[port]]\nname = \"b\"\nrate = \"1G\"\n";
    parse(&format!("{table}\n{ports}"), "gw.toml")
}

#[test]
fn a_url_with_a_password_is_refused_without_showing_it() {
    for url in ["http://it:secret@127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics?key=secret"] {
        let error = gateway(&format!("control.otlp.endpoint = \"{url}\"")).unwrap_err().to_string();
        assert!(error.contains("control.otlp.endpoint: this is not a URL such as"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[cfg(not(feature = "otlp"))]
#[test]
fn a_build_without_the_feature_refuses_the_table_and_says_why() {
    let error = gateway("[control.otlp]\nendpoint = \"http://127.0.0.1:4318\"").unwrap_err();
    assert_eq!(
        error.to_string(),
        "gw.toml:1:1: control.otlp: this longspan was built without OTLP; build it with `--features otlp`, or remove \
         this table"
    );
}
