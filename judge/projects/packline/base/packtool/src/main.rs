//! packtool pack|unpack|info < in > out

use std::io::{self, Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mode = std::env::args().nth(1).unwrap_or_default();
    match run(&mode) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("packtool: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(mode: &str) -> Result<(), String> {
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input).map_err(|err| err.to_string())?;
    let output = match mode {
        "pack" => packline::pack(&input),
        "unpack" => packline::unpack(&input).map_err(|err| err.to_string())?,
        "info" => info(&input)?.into_bytes(),
        _ => return Err("use: packtool pack|unpack|info".to_string()),
    };
    io::stdout().write_all(&output).map_err(|err| err.to_string())
}

fn info(frame: &[u8]) -> Result<String, String> {
    let data = packline::unpack(frame).map_err(|err| err.to_string())?;
    let percent = if data.is_empty() {
        100.0
    } else {
        100.0 * frame.len() as f64 / data.len() as f64
    };
    Ok(format!("{} bytes in {} ({percent:.0} %)\n", data.len(), frame.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_of_a_run() {
        let frame = packline::pack(&[b'z'; 200]);
        assert_eq!(info(&frame), Ok("200 bytes in 7 (4 %)\n".to_string()));
    }

    #[test]
    fn info_of_nothing() {
        assert_eq!(info(&packline::pack(b"")), Ok("0 bytes in 3 (100 %)\n".to_string()));
    }
}
