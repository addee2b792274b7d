//! A kernel's BTF cut to the types that tracing reads, small enough for a fixture. Pure: bytes in,
//! bytes out.
//!
//! Kept are the structs of [`STRUCTS`] with everything they hold by value, and the signatures of
//! the block tracepoints (`btf_trace_*`). Pointers to anything else become `void *`, so sizes and
//! offsets stay what they were. Format: `include/uapi/linux/btf.h`, Documentation/bpf/btf.rst.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

/// Structs whose members are read.
const STRUCTS: [&str; 6] = [
    "bio",
    "request",
    "block_device",
    "gendisk",
    "request_queue",
    "task_struct",
];
/// Prefix of the typedefs that stand for the signatures of tracepoints.
const SIGNATURES: &str = "btf_trace_block_";

const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;

const PTR: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const FWD: u32 = 7;
const TYPEDEF: u32 = 8;
const FUNC_PROTO: u32 = 13;

/// A type: its three fixed words and those that follow.
#[derive(Clone, Debug)]
struct Type {
    name: u32,
    info: u32,
    size_or_type: u32,
    more: Vec<u32>,
}

impl Type {
    fn kind(&self) -> u32 {
        self.info >> 24 & 0x1f
    }

    fn is_aggregate(&self) -> bool {
        matches!(self.kind(), STRUCT | UNION)
    }

    /// Where in `more` names and types of other types stand: (first, step).
    fn members(&self) -> Option<usize> {
        match self.kind() {
            STRUCT | UNION => Some(3),
            FUNC_PROTO => Some(2),
            _ => None,
        }
    }

    /// Whether `size_or_type` is a type: pointers, typedefs, qualifiers, functions and their
    /// prototypes, variables, tags.
    fn refers(&self) -> bool {
        matches!(self.kind(), PTR | 8..=14 | 17 | 18)
    }
}

/// How many words follow the fixed ones.
fn more_words(info: u32) -> Option<usize> {
    let items = (info & 0xffff) as usize;
    Some(match info >> 24 & 0x1f {
        1 | 14 | 17 => 1,
        PTR | FWD | 8..=12 | 16 | 18 => 0,
        ARRAY => 3,
        STRUCT | UNION | 15 | 19 => items * 3,
        6 | FUNC_PROTO => items * 2,
        _ => return None,
    })
}

/// Cuts a little-endian BTF file.
pub(crate) fn cut(file: &[u8]) -> Result<Vec<u8>> {
    let (types, strings) = parse(file)?;
    let name = |offset: u32| {
        let text = strings.get(offset as usize..).unwrap_or_default();
        text.split(|byte| *byte == 0).next().unwrap_or_default()
    };
    let mut writer = Writer {
        types: &types,
        ids: HashMap::new(),
        out: Vec::new(),
    };
    let named = |kind: u32, wanted: &dyn Fn(&[u8]) -> bool| -> Vec<u32> {
        (1_u32..)
            .zip(&types)
            .filter(|(_, one)| one.kind() == kind && wanted(name(one.name)))
            .map(|(id, _)| id)
            .collect()
    };
    let structs = named(STRUCT, &|name| {
        STRUCTS.iter().any(|wanted| wanted.as_bytes() == name)
    });
    let signatures = named(TYPEDEF, &|name| name.starts_with(SIGNATURES.as_bytes()));
    // Numbered before any is written: they point to each other.
    for id in &structs {
        writer.reserve(*id);
    }
    for id in structs {
        writer.fill(id)?;
    }
    for id in signatures {
        writer.keep(id, true)?;
    }
    Ok(encode(&writer.out, strings))
}

struct Writer<'a> {
    types: &'a [Type],
    ids: HashMap<u32, u32>,
    out: Vec<Type>,
}

impl Writer<'_> {
    fn at(&self, id: u32) -> Result<&Type> {
        let index = (id as usize).checked_sub(1).context("void has no entry")?;
        self.types
            .get(index)
            .with_context(|| format!("type {id} does not exist"))
    }

    fn reserve(&mut self, id: u32) -> u32 {
        let empty = Type {
            name: 0,
            info: 0,
            size_or_type: 0,
            more: Vec::new(),
        };
        self.out.push(empty);
        let new = u32::try_from(self.out.len()).unwrap_or(u32::MAX);
        self.ids.insert(id, new);
        new
    }

    /// The new number of a type, which is taken along when it is not yet there. A pointer is
    /// followed to what is kept anyway, and to a prototype within a signature.
    fn keep(&mut self, id: u32, signature: bool) -> Result<u32> {
        if id == 0 {
            return Ok(0);
        }
        if let Some(new) = self.ids.get(&id) {
            return Ok(*new);
        }
        let new = self.reserve(id);
        self.fill_as(id, signature)?;
        Ok(new)
    }

    fn fill(&mut self, id: u32) -> Result<()> {
        self.fill_as(id, false)
    }

    fn fill_as(&mut self, id: u32, signature: bool) -> Result<()> {
        let mut one = self.at(id)?.clone();
        if one.kind() == PTR {
            one.size_or_type = self.target(one.size_or_type, signature)?;
        } else if one.refers() {
            one.size_or_type = self.keep(one.size_or_type, signature)?;
        }
        if one.kind() == ARRAY {
            one.more[0] = self.keep(one.more[0], false)?;
            one.more[1] = self.keep(one.more[1], false)?;
        }
        if let Some(step) = one.members() {
            for index in (0..one.more.len()).step_by(step) {
                one.more[index + 1] = self.keep(one.more[index + 1], false)?;
            }
        }
        let new = self.ids[&id] as usize;
        self.out[new - 1] = one;
        Ok(())
    }

    fn target(&mut self, id: u32, signature: bool) -> Result<u32> {
        if id == 0 {
            return Ok(0);
        }
        if let Some(new) = self.ids.get(&id).copied()
            && self.at(id)?.is_aggregate()
        {
            return Ok(new);
        }
        if signature && self.at(id)?.kind() == FUNC_PROTO {
            return self.keep(id, false);
        }
        Ok(0)
    }
}

fn parse(file: &[u8]) -> Result<(Vec<Type>, &[u8])> {
    let word = |at: usize| -> Result<u32> {
        let bytes = file.get(at..at + 4).context("the BTF ends early")?;
        Ok(u32::from_le_bytes(bytes.try_into()?))
    };
    if file.get(..2) != Some(&MAGIC.to_le_bytes()) {
        bail!("this is no little-endian BTF");
    }
    let header = word(4)? as usize;
    let (types_at, types_bytes) = (header + word(8)? as usize, word(12)? as usize);
    let (strings_at, strings_bytes) = (header + word(16)? as usize, word(20)? as usize);
    let strings = file
        .get(strings_at..strings_at + strings_bytes)
        .context("the BTF's strings end early")?;
    let mut types = Vec::new();
    let mut at = types_at;
    while at < types_at + types_bytes {
        let info = word(at + 4)?;
        let words = more_words(info)
            .with_context(|| format!("type {} is of an unknown kind", types.len() + 1))?;
        let more = (0..words)
            .map(|index| word(at + 12 + index * 4))
            .collect::<Result<_>>()?;
        types.push(Type {
            name: word(at)?,
            info,
            size_or_type: word(at + 8)?,
            more,
        });
        at += 12 + words * 4;
    }
    Ok((types, strings))
}

/// Writes types with only the strings they use.
fn encode(types: &[Type], strings: &[u8]) -> Vec<u8> {
    let mut table = vec![0];
    let mut places: HashMap<u32, u32> = HashMap::from([(0, 0)]);
    let mut place = |offset: u32| {
        *places.entry(offset).or_insert_with(|| {
            let at = u32::try_from(table.len()).unwrap_or(u32::MAX);
            let text = strings.get(offset as usize..).unwrap_or_default();
            table.extend(text.iter().take_while(|byte| **byte != 0));
            table.push(0);
            at
        })
    };
    let mut body = Vec::new();
    for one in types {
        let mut more = one.more.clone();
        // Enumerators are named like members.
        let step = one.members().or(match one.kind() {
            6 => Some(2),
            19 => Some(3),
            _ => None,
        });
        if let Some(step) = step {
            more.iter_mut()
                .step_by(step)
                .for_each(|name| *name = place(*name));
        }
        for word in [place(one.name), one.info, one.size_or_type]
            .iter()
            .chain(&more)
        {
            body.extend(word.to_le_bytes());
        }
    }
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
    let mut file = Vec::with_capacity(HEADER_BYTES + body.len() + table.len());
    file.extend(MAGIC.to_le_bytes());
    file.extend([1, 0]);
    file.extend(24_u32.to_le_bytes());
    file.extend(0_u32.to_le_bytes());
    file.extend(length(&body));
    file.extend(length(&body));
    file.extend(length(&table));
    file.extend(body);
    file.extend(table);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: u32 = 1 << 24;

    /// `struct bio { int a; struct other *b; struct bio *next; };` and a typedef of
    /// `void (*)(struct bio *)`.
    fn sample() -> Vec<u8> {
        let strings = b"\0int\0bio\0a\0b\0next\0other\0btf_trace_block_bio_queue\0unused\0";
        let name = |text: &str| {
            let at = strings.windows(text.len() + 2).position(|window| {
                window[0] == 0
                    && &window[1..=text.len()] == text.as_bytes()
                    && window[text.len() + 1] == 0
            });
            u32::try_from(at.expect("a string of the table") + 1).expect("small")
        };
        let one = |name, info, size_or_type, more: &[u32]| Type {
            name,
            info,
            size_or_type,
            more: more.to_vec(),
        };
        let types = [
            one(name("int"), INT, 4, &[32]),
            one(name("other"), STRUCT << 24 | 1, 4, &[name("a"), 1, 0]),
            one(0, PTR << 24, 2, &[]),
            one(
                name("bio"),
                STRUCT << 24 | 3,
                24,
                &[name("a"), 1, 0, name("b"), 3, 64, name("next"), 5, 128],
            ),
            one(0, PTR << 24, 4, &[]),
            one(0, FUNC_PROTO << 24 | 1, 0, &[0, 5]),
            one(0, PTR << 24, 6, &[]),
            one(name("btf_trace_block_bio_queue"), TYPEDEF << 24, 7, &[]),
        ];
        encode(&types, strings)
    }

    #[test]
    fn the_cut_keeps_layouts_and_signatures_and_drops_what_is_only_pointed_to() {
        let cut = cut(&sample()).expect("cuts");
        let (types, strings) = parse(&cut).expect("parses");
        let text = |offset: u32| {
            let bytes = &strings[offset as usize..];
            String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default())
        };
        let bio = types
            .iter()
            .position(|one| text(one.name) == "bio")
            .expect("kept");
        let members: Vec<_> = types[bio]
            .more
            .chunks(3)
            .map(|member| (text(member[0]).into_owned(), member[2]))
            .collect();
        assert_eq!(
            members,
            [("a".into(), 0), ("b".into(), 64), ("next".into(), 128)]
        );
        assert!(types.iter().all(|one| text(one.name) != "other"));
        let follow = |id: u32| &types[id as usize - 1];
        let other = follow(types[bio].more[4]);
        assert_eq!((other.kind(), other.size_or_type), (PTR, 0));
        let signature = types
            .iter()
            .find(|one| one.kind() == TYPEDEF)
            .expect("kept");
        let prototype = follow(follow(signature.size_or_type).size_or_type);
        assert_eq!((prototype.kind(), prototype.more.len()), (FUNC_PROTO, 2));
        assert_eq!(follow(prototype.more[1]).size_or_type as usize, bio + 1);
    }

    #[test]
    fn damaged_btf_is_refused() {
        let whole = sample();
        assert!(cut(&whole[..whole.len() - 3]).is_err());
        assert!(cut(b"").is_err());
        assert!(cut(&[0; 64]).is_err());
    }
}
