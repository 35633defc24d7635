//! Runs of equal bytes, and bytes as they are.

use crate::{varint, Error};

const SHORTEST: usize = 3;

pub fn write(out: &mut Vec<u8>, data: &[u8]) {
    let mut plain = 0;
    let mut at = 0;
    while at < data.len() {
        let length = data[at..].iter().take_while(|b| **b == data[at]).count();
        if length >= SHORTEST {
            write_plain(out, &data[plain..at]);
            varint::write(out, (length as u64) << 1);
            out.push(data[at]);
            plain = at + length;
        }
        at += length;
    }
    write_plain(out, &data[plain..]);
}

fn write_plain(out: &mut Vec<u8>, data: &[u8]) {
    if !data.is_empty() {
        varint::write(out, (data.len() as u64) << 1 | 1);
        out.extend(data);
    }
}

pub fn read(mut body: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    while !body.is_empty() {
        let (n, rest) = varint::read(body)?;
        let count = usize::try_from(n >> 1).map_err(|_| Error::Long)?;
        if n & 1 == 1 {
            if rest.len() < count {
                return Err(Error::Short);
            }
            out.extend(&rest[..count]);
            body = &rest[count..];
        } else {
            let (byte, rest) = rest.split_first().ok_or(Error::Short)?;
            out.resize(out.len() + count, *byte);
            body = rest;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, data);
        out
    }

    #[test]
    fn two_are_no_run() {
        assert_eq!(written(b"aab"), b"\x07aab");
    }

    #[test]
    fn three_are_a_run() {
        assert_eq!(written(b"xaaay"), b"\x03x\x06a\x03y");
    }

    #[test]
    fn a_run_without_its_byte() {
        assert_eq!(read(&[6]), Err(Error::Short));
    }

    #[test]
    fn plain_bytes_that_are_missing() {
        assert_eq!(read(b"\x09ab"), Err(Error::Short));
    }
}
