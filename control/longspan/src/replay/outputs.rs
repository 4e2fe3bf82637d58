//! The files for the captures, the report and the series.

use super::files::Claims;
use super::plot;
use super::ports::port_called;
use crate::cli::replay::ReplayArgs;
use crate::failure::Failure;
use config::Gateway;
use replay::Outputs;
use replay::capture::CaptureWriter;
use replay::report::Report;
use replay::series::Series;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// The files to write.
pub struct Destinations {
    /// The capture of each port, in port order.
    pub captures: Vec<Option<PathBuf>>,
    /// The report.
    pub report: Option<PathBuf>,
    /// The series as CSV.
    pub series: Option<PathBuf>,
    /// The series as SVG.
    pub plot: Option<PathBuf>,
    directory: Option<PathBuf>,
}

impl Destinations {
    /// Determines the files from the command line, without creating any.
    ///
    /// # Errors
    /// [`Failure::Usage`] if a port does not exist or is named twice, or a file is already claimed.
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
        let [mut report, mut series, mut plot] = [&args.report, &args.series, &args.plot].map(Clone::clone);
        if let Some(directory) = &directory {
            for (place, name) in captures.iter_mut().zip(gateway.port_names()) {
                place.get_or_insert_with(|| directory.join(file_name(name)));
            }
            report.get_or_insert_with(|| directory.join("report.json"));
            series.get_or_insert_with(|| directory.join("series.csv"));
            plot.get_or_insert_with(|| directory.join("series.svg"));
        }
        for (path, name) in captures.iter().zip(gateway.port_names()) {
            if let Some(path) = path {
                claims.write(path, &format!("the output of port {name}"))?;
            }
        }
        for (path, what) in [(&report, "the report"), (&series, "the series"), (&plot, "the plot")] {
            if let Some(path) = path {
                claims.write(path, what)?;
            }
        }
        Ok(Self { captures, report, series, plot, directory })
    }

    /// Whether a series or a plot is requested.
    pub fn want_series(&self) -> bool {
        self.series.is_some() || self.plot.is_some()
    }

    /// Creates all files, even those that are written at the end, so that errors appear before a long replay.
    ///
    /// # Errors
    /// [`Failure::Start`], [`Failure::Write`], and [`Failure::Usage`] if two of `claims` are one file.
    pub fn create(&self, claims: &Claims) -> Result<Outputs, Failure> {
        if let Some(directory) = &self.directory {
            fs::create_dir_all(directory).map_err(Failure::uncreated(directory))?;
        }
        claims.create()?;
        for path in [&self.report, &self.series, &self.plot].into_iter().flatten() {
            File::create(path).map_err(Failure::uncreated(path))?;
        }
        let writers = self.captures.iter().map(|path| {
            path.as_ref().map(|path| CaptureWriter::create(path).map_err(Failure::Start)).transpose()
        });
        Ok(Outputs::new(writers.collect::<Result<Vec<_>, _>>()?))
    }

    /// Writes the report, if requested.
    ///
    /// # Errors
    /// [`Failure::Write`].
    pub fn write_report(&self, report: &Report) -> Result<(), Failure> {
        write(&self.report, |file| file.write_all(report.to_json().as_bytes()))
    }

    /// Writes the series and its plot, if requested.
    ///
    /// # Errors
    /// [`Failure::Write`].
    pub fn write_series(&self, series: &Series, gateway: &Gateway) -> Result<(), Failure> {
        let ports: Vec<_> = gateway.port_names().collect();
        write(&self.series, |file| series.write_csv(&ports, file))?;
        write(&self.plot, |file| file.write_all(plot::svg(series, &gateway.name, &ports).as_bytes()))
    }
}

/// Fills a file that was created at the start.
fn write(
    path: &Option<PathBuf>,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    let written = File::create(path).and_then(|file| {
        let mut file = BufWriter::new(file);
        fill(&mut file)?;
        file.flush()
    });
    written.map_err(Failure::unwritten(path))
}

/// The name of a port's capture. Names of ports may contain a slash, as in `1/1`.
fn file_name(port: &str) -> String {
    format!("{}.pcap", port.replace('/', "_"))
}
