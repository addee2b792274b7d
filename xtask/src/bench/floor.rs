//! Programs that do nothing, on the tracepoints that zvoltrace uses: what any tracer pays for
//! being called, and what measuring itself adds.

use anyhow::{Context, Result};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf};
use object::write::{Object, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};

/// `r0 = 0; exit`.
const NOTHING: [u8; 16] = [
    0xb7, 0, 0, 0, 0, 0, 0, 0, //
    0x95, 0, 0, 0, 0, 0, 0, 0,
];

/// Attached as long as it lives.
pub(crate) struct Floor {
    _programs: Ebpf,
}

impl Floor {
    /// Attaches a program to each tracepoint.
    pub(crate) fn attach(tracepoints: &[&str]) -> Result<Self> {
        let btf = Btf::from_sys_fs().context("cannot read the kernel's BTF")?;
        let mut programs = Ebpf::load(&object(tracepoints)?).context("cannot load")?;
        for name in tracepoints {
            let program: &mut BtfTracePoint = programs
                .program_mut(&symbol(name))
                .with_context(|| format!("no empty program for {name}"))?
                .try_into()?;
            program.load(name, &btf)?;
            program.attach()?;
        }
        Ok(Self {
            _programs: programs,
        })
    }
}

/// Names of programs have 15 bytes.
fn symbol(tracepoint: &str) -> String {
    tracepoint.replacen("block", "e", 1)
}

/// An object as a BPF compiler would write it.
fn object(tracepoints: &[&str]) -> Result<Vec<u8>> {
    let mut elf = Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let license = elf.add_section(Vec::new(), b"license".to_vec(), SectionKind::Data);
    elf.append_section_data(license, b"Dual MIT/GPL\0", 1);
    for name in tracepoints {
        let section = format!("tp_btf/{name}").into_bytes();
        let section = elf.add_section(Vec::new(), section, SectionKind::Text);
        let value = elf.append_section_data(section, &NOTHING, 8);
        elf.add_symbol(Symbol {
            name: symbol(name).into_bytes(),
            value,
            size: NOTHING.len() as u64,
            kind: SymbolKind::Text,
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }
    elf.write().context("cannot write an object")
}
