//! Writing pcapng: frames of several interfaces, with their direction and what was lost.
//!
//! Blocks and options are those of the Internet-Draft "PCAP Now Generic (pcapng) Capture File Format"
//! (draft-ietf-opsawg-pcapng), sections 4.1 to 4.3 and 4.6.

use std::io::{self, Write};
use units::Nanos;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const LINKTYPE_ETHERNET: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;
/// `if_tsresol` of nanoseconds.
const NANOSECONDS: u8 = 9;

/// An interface of a capture: one direction of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureInterface {
    /// `if_name`.
    pub name: String,
    /// `if_description`.
    pub description: String,
    /// Whether its frames leave, rather than come in.
    pub outbound: bool,
}

/// Writes pcapng with nanoseconds, little endian, Ethernet.
#[derive(Debug)]
#[must_use = "what is not finished lacks its statistics"]
pub struct PcapngWriter<W> {
    sink: W,
    /// Whether each interface is outbound, and the frames written for it.
    interfaces: Vec<(bool, u64)>,
    /// The block that is being made.
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Starts a capture of `interfaces`, which holds the first `snap` bytes of frames. `application` is the program that
    /// writes it.
    ///
    /// # Errors
    /// Those of `sink`.
    pub fn new(sink: W, application: &str, interfaces: &[CaptureInterface], snap: u32) -> io::Result<Self> {
        let states = interfaces.iter().map(|interface| (interface.outbound, 0)).collect();
        let mut writer = Self { sink, interfaces: states, block: Vec::new() };
        writer.begin(SECTION_HEADER);
        writer.put(&BYTE_ORDER_MAGIC.to_le_bytes());
        // Version 1.0, and a section of unknown length.
        writer.put(&[1, 0, 0, 0]);
        writer.put(&u64::MAX.to_le_bytes());
        writer.option(SHB_USERAPPL, application.as_bytes());
        writer.end()?;
        for interface in interfaces {
            writer.begin(INTERFACE_DESCRIPTION);
            writer.put(&LINKTYPE_ETHERNET.to_le_bytes());
            writer.put(&[0, 0]);
            writer.put(&snap.to_le_bytes());
            writer.option(IF_NAME, interface.name.as_bytes());
            writer.option(IF_DESCRIPTION, interface.description.as_bytes());
            writer.option(IF_TSRESOL, &[NANOSECONDS]);
            writer.end()?;
        }
        Ok(writer)
    }

    /// Writes a frame of the interface with this index that was on the link at `at` with `original_length` bytes, starting
    /// with `data`. An original length below that of `data` is raised. A frame of an unknown interface is left out.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write(
        &mut self,
        interface: usize,
        at: Nanos,
        data: &[u8],
        original_length: u32,
    ) -> io::Result<()> {
        let Some((outbound, frames)) = self.interfaces.get_mut(interface) else { return Ok(()) };
        *frames += 1;
        let flags: u32 = if *outbound { 0b10 } else { 0b01 };
        let captured = data.len() as u32;
        self.begin(ENHANCED_PACKET);
        self.put(&(interface as u32).to_le_bytes());
        self.timestamp(at);
        self.put(&captured.to_le_bytes());
        self.put(&original_length.max(captured).to_le_bytes());
        self.padded(data);
        self.option(EPB_FLAGS, &flags.to_le_bytes());
        self.end()
    }

    /// Gives the sink's reader everything so far.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    /// Completes the capture at `at`. `lost` has the frames of each interface that are missing; without it, nothing is said of
    /// that.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(mut self, at: Nanos, lost: Option<&[u64]>) -> io::Result<W> {
        let told = if lost.is_some() { self.interfaces.clone() } else { Vec::new() };
        let lost = lost.unwrap_or_default();
        for (index, (_, frames)) in told.into_iter().enumerate() {
            let lost = lost.get(index).copied().unwrap_or(0);
            self.begin(INTERFACE_STATISTICS);
            self.put(&(index as u32).to_le_bytes());
            self.timestamp(at);
            self.option(ISB_IFRECV, &(frames + lost).to_le_bytes());
            self.option(ISB_IFDROP, &lost.to_le_bytes());
            self.end()?;
        }
        self.sink.flush()?;
        Ok(self.sink)
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.put(&kind.to_le_bytes());
        // The length, once it is known.
        self.put(&[0; 4]);
    }

    /// Completes a block that has options.
    fn end(&mut self) -> io::Result<()> {
        // `opt_endofopt`.
        self.put(&[0; 4]);
        let length = (self.block.len() as u32 + 4).to_le_bytes();
        self.block[4..8].copy_from_slice(&length);
        self.put(&length);
        self.sink.write_all(&self.block)
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.put(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn timestamp(&mut self, at: Nanos) {
        self.put(&((at.0 >> 32) as u32).to_le_bytes());
        self.put(&(at.0 as u32).to_le_bytes());
    }

    /// A value beyond the longest one is cut.
    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.put(&code.to_le_bytes());
        self.put(&(value.len() as u16).to_le_bytes());
        self.padded(value);
    }
}
