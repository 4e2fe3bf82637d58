//! Where the captures and the report go.

use super::files::Claims;
use super::port_called;
use crate::cli::ReplayArgs;
use crate::failure::Failure;
use config::Gateway;
use replay::Outputs;
use replay::capture::CaptureWriter;
use replay::report::Report;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The files that are written.
pub struct Destinations {
    /// One place per port.
    captures: Vec<Option<PathBuf>>,
    /// The report.
    report: Option<PathBuf>,
    directory: Option<PathBuf>,
}

impl Destinations {
    /// Reads them from the command line, and touches nothing.
    ///
    /// # Errors
    /// [`Failure::Usage`] for ports that there are not or that are named twice, and files that are
    /// also read or written for something else.
    pub fn new(args: &ReplayArgs, gateway: &Gateway, claims: &mut Claims) -> Result<Self, Failure> {
        let mut captures = vec![None; gateway.port_names().len()];
        for output in &args.outputs {
            let place = &mut captures[port_called(gateway, &output.port)?.index()];
            if place.is_some() {
                return Err(Failure::usage(format!("--out names port {} twice", output.port)));
            }
            *place = Some(output.file.clone());
        }
        let directory = args.out_dir.clone();
        let mut report = args.report.clone();
        if let Some(directory) = &directory {
            for (place, name) in captures.iter_mut().zip(gateway.port_names()) {
                place.get_or_insert_with(|| directory.join(file_name(name)));
            }
            report.get_or_insert_with(|| directory.join("report.json"));
        }
        for (path, name) in captures.iter().zip(gateway.port_names()) {
            if let Some(path) = path {
                claims.write(path, &format!("the output of port {name}"))?;
            }
        }
        if let Some(path) = &report {
            claims.write(path, "the report")?;
        }
        Ok(Self { captures, report, directory })
    }

    /// Creates all files, the report too: better to know now than after a long replay.
    ///
    /// # Errors
    /// [`Failure::Start`] and [`Failure::Write`].
    pub fn create(&self) -> Result<Outputs, Failure> {
        let failed = |path: &Path, source| Failure::Write { path: path.into(), source, running: false };
        if let Some(directory) = &self.directory {
            fs::create_dir_all(directory).map_err(|source| failed(directory, source))?;
        }
        if let Some(report) = &self.report {
            File::create(report).map_err(|source| failed(report, source))?;
        }
        let writers = self.captures.iter().map(|path| {
            path.as_ref().map(|path| CaptureWriter::create(path).map_err(Failure::Start)).transpose()
        });
        Ok(Outputs::new(writers.collect::<Result<Vec<_>, _>>()?))
    }

    /// Writes the report, where one was asked for.
    ///
    /// # Errors
    /// [`Failure::Write`].
    pub fn write_report(&self, report: &Report) -> Result<(), Failure> {
        let Some(path) = &self.report else { return Ok(()) };
        let written = File::create(path).and_then(|mut file| file.write_all(report.to_json().as_bytes()));
        written.map_err(|source| Failure::Write { path: path.clone(), source, running: true })
    }

    /// The capture of each port that has one, by the port's place.
    pub fn captures(&self) -> impl Iterator<Item = Option<&Path>> {
        self.captures.iter().map(Option::as_deref)
    }

    /// The report's file.
    pub fn report(&self) -> Option<&Path> {
        self.report.as_deref()
    }
}

/// The capture of a port in a directory. Ports may be called `1/1`, files not.
fn file_name(port: &str) -> String {
    format!("{}.pcap", port.replace('/', "_"))
}
