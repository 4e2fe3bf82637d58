//! The messages for broken scenarios. Each `tests/scenarios/NAME.toml` has its messages beside it in `NAME.txt`. To
//! write them anew after a deliberate change, run with `BLESS=1` and read the diff.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::{Path, PathBuf};

use config::ConfigError;
use config::scenario::{Override, ScenarioFile};

fn files() -> impl Iterator<Item = PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
}

fn checked(path: &Path) -> Result<Vec<config::Problem>, ConfigError> {
    let name = path.file_name().unwrap().to_str().unwrap();
    ScenarioFile::parse(&fs::read_to_string(path).unwrap(), name)?.check()
}

#[test]
fn every_broken_scenario_is_told_where_and_why_and_what_would_be_valid() {
    let mut differing = Vec::new();
    let mut count = 0;
    for path in files() {
        count += 1;
        let mut said = match checked(&path) {
            Ok(warnings) => warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
            Err(error) => error.to_string(),
        };
        said.push('\n');
        let golden = path.with_extension("txt");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&golden, &said).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if said != expected {
            differing.push(format!("{} should be told\n{expected}and was told\n{said}", path.display()));
        }
    }
    assert!(count > 15, "found {count} files");
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn only_the_scenarios_of_warnings_can_be_run() {
    for path in files() {
        let expected = path.file_stem().unwrap().to_str().unwrap().ends_with("warnings");
        assert_eq!(checked(&path).is_ok(), expected, "{}", path.display());
    }
}

#[test]
fn what_is_wrong_with_an_override_is_said_of_the_override() {
    const TEXT: &str = "
        [topology]
        template = \"two-data-centers\"

        [[traffic]]
        group = \"all\"
        pattern = \"poisson\"
        size = \"1MB\"
        load = 0.5
    ";
    let file = ScenarioFile::parse(TEXT, "text.toml").unwrap();
    let told = |texts: &[&str]| {
        let overrides: Vec<Override> = texts.iter().map(|text| text.parse().unwrap()).collect();
        file.build(&overrides).unwrap_err().to_string()
    };
    assert_eq!(
        told(&["traffic.all.laod=0.7"]).split(';').next().unwrap(),
        "--set traffic.all.laod=0.7: traffic.laod: unknown key (did you mean \"load\"?)"
    );
    assert_eq!(
        told(&["traffic.all.load=high"]),
        "--set traffic.all.load=high: traffic.load: \"high\" is not a number"
    );
    assert_eq!(
        told(&["traffic.some.load=1"]),
        "--set traffic.some.load=1: traffic: there is no element \"some\"; valid names are all"
    );
    assert_eq!(
        told(&["long_haul.flow_control=bifrost", "long_haul.bifrost.slot=10"]),
        "--set long_haul.bifrost.slot=10: long_haul.bifrost.slot: in the configuration of gw-east, \
         port.bifrost.slot: \"10\" has no unit; write for example \"400us\""
    );
    assert_eq!(
        told(&["topology.template.x=1"]),
        "--set topology.template.x=1: topology.template: topology.template is not a table or an array, so it cannot contain x"
    );
    assert!("load".parse::<Override>().is_err() && "=3".parse::<Override>().is_err());
}

#[test]
fn an_override_replaces_the_other_key_for_the_same_setting() {
    const TEXT: &str = "
        [topology]
        template = \"incast\"
        delay = \"2us\"

        [switch.lossless]
        dynamic_th = -2

        [[traffic]]
        group = \"all\"
        pattern = \"permutation\"
        distribution = \"websearch\"
    ";
    let file = ScenarioFile::parse(TEXT, "text.toml").unwrap();
    let built = |texts: &[&str]| {
        let overrides: Vec<Override> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let scenario = file.build(&overrides).unwrap_or_else(|error| panic!("{error}"));
        scenario.switches[0].1.clone()
    };
    assert!(built(&[]).contains("dynamic_th = -2"));
    let fixed = built(&["switch.lossless.xoff=1MB"]);
    assert!(fixed.contains("xoff = \"1MB\"") && !fixed.contains("dynamic_th = -2"), "{fixed}");
    let last = built(&["switch.lossless.xoff=1MB", "switch.lossless.dynamic_th=-1"]);
    assert!(last.contains("dynamic_th = -1") && !last.contains("xoff"), "{last}");
    built(&["topology.distance=1km", "traffic.all.size=1MB"]);
    let refused = file.build(&["claim.one.paper=2".parse().unwrap()]).unwrap_err().to_string();
    assert_eq!(
        refused,
        "--set claim.one.paper=2: claim: does not apply with --set or [[variant]]; remove it"
    );
}

#[test]
fn a_table_is_told_only_if_no_variant_reads_it() {
    let said = |variants: &str| {
        let text = format!(
            "
            [topology]
            template = \"two-data-centers\"

            [long_haul]
            flow_control = \"pfc\"
            bifrost.slot = \"20us\"

            [[traffic]]
            group = \"all\"
            pattern = \"permutation\"
            size = \"1MB\"
            {variants}
            "
        );
        let file = ScenarioFile::parse(&text, "text.toml").unwrap();
        let built = file.variants.first().map(|variant| file.build(&variant.overrides).unwrap().warnings);
        assert_eq!(built.unwrap_or_default(), []);
        file.check().unwrap().iter().map(|problem| format!("{problem}\n")).collect::<String>()
    };
    let variant = |name: &str, word: &str| {
        format!("[[variant]]\nname = \"{name}\"\nset.long_haul.flow_control = \"{word}\"\n")
    };
    let unread = "text.toml:7:13: warning: long_haul.bifrost: applies only with flow_control = \"bifrost\", which no \
                  port has; choose it, or remove this table\n";
    assert_eq!(said(""), unread);
    assert_eq!(said(&[variant("pfc", "pfc"), variant("credits", "cbfc")].concat()), unread);
    assert_eq!(said(&[variant("pfc", "pfc"), variant("slots", "bifrost")].concat()), "");
}

#[test]
fn a_gateways_file_is_no_scenario() {
    assert!(!ScenarioFile::is_scenario("[[port]]\nname = \"dc0\"\n"));
    assert!(ScenarioFile::is_scenario("[topology]\ntemplate = \"incast\"\n"));
}
