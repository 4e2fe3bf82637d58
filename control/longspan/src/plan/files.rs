//! The configurations as files.

use crate::cli::plan::PlanArgs;
use crate::failure::Failure;
use config::plan::LinkPlan;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes the files that `args` asks for, and returns their paths. A file that exists stays: someone may have edited it.
pub fn write(args: &PlanArgs, plan: &LinkPlan) -> Result<Vec<PathBuf>, Failure> {
    let texts = &plan.built.texts;
    let failed = |path: &Path, source| Failure::Write { path: path.into(), source, running: false };
    let mut wanted = Vec::new();
    if let Some(file) = args.toml.as_ref().filter(|_| !args.prints_toml()) {
        wanted.push((file.clone(), &texts[0].1));
    }
    if let Some(directory) = &args.out {
        fs::create_dir_all(directory).map_err(|source| failed(directory, source))?;
        wanted.extend(texts.iter().map(|(name, text)| (directory.join(format!("{name}.toml")), text)));
    }
    if let Some((path, _)) = wanted.iter().find(|(path, _)| path.exists()) {
        return Err(failed(path, exists()));
    }
    for (path, text) in &wanted {
        create(path, text).map_err(|source| failed(path, source))?;
    }
    Ok(wanted.into_iter().map(|(path, _)| path).collect())
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    let file = File::create_new(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(),
        _ => error,
    });
    file?.write_all(text.as_bytes())
}

/// The error of a file that is there.
fn exists() -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, "it exists already, and the plan overwrites nothing")
}

/// Lines about the files, and about LSCC's key.
pub fn summary(plan: &LinkPlan, written: &[PathBuf]) -> String {
    let mut text = String::new();
    for path in written {
        text += &format!("\nwritten: {}", path.display());
    }
    if plan.built.request.lscc && !written.is_empty() {
        text += &format!(
            "\nBoth gateways need the same {} beside their file: openssl rand -hex 16 makes a key",
            plan.built.request.key_file
        );
    }
    if !text.is_empty() {
        text += "\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use config::plan::Request;
    use units::{BitRate, Distance};

    #[test]
    fn a_file_that_exists_is_never_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("gateways");
        let line = ["longspan", "plan", "--distance", "80km", "--rate", "100G", "--out"];
        let line = line.map(std::ffi::OsString::from).into_iter().chain([out.clone().into_os_string()]);
        let Command::Plan(args) = Cli::try_parse_from(line).unwrap().command else { panic!("no plan") };
        let plan = LinkPlan::new(&Request::new(Distance(80_000), BitRate::gigabits(100))).unwrap();
        let written = write(&args, &plan).unwrap();
        assert_eq!(written, ["gw-east.toml", "gw-west.toml"].map(|name| out.join(name)));
        for path in &written {
            assert_eq!(config::load(path).unwrap().warnings, []);
        }
        fs::write(&written[0], "edited").unwrap();
        let refused = write(&args, &plan).unwrap_err();
        assert!(matches!(refused, Failure::Write { .. }), "{refused}");
        let why = "gw-east.toml: cannot be written: it exists already, and the plan overwrites nothing";
        assert!(refused.to_string().ends_with(why), "{refused}");
        // A link to nowhere is found only where the file is created.
        let link = directory.path().join("link.toml");
        std::os::unix::fs::symlink("nowhere/at/all", &link).unwrap();
        assert!(create(&link, "").unwrap_err().to_string().starts_with("it exists already"));
        assert_eq!(fs::read_to_string(&written[0]).unwrap(), "edited");
    }
}
