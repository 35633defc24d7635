use std::io::Read;
use std::process::ExitCode;

const USAGE: &str = "usage: weedout [--explain] RULES < PATHS";

fn main() -> ExitCode {
    match run() {
        Ok(out) => {
            print!("{out}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("weedout: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<String, String> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let reasons = args.first().is_some_and(|arg| arg == "--explain");
    if reasons {
        args.remove(0);
    }
    let [file] = args.as_slice() else {
        return Err(USAGE.to_string());
    };
    let source = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let rules = weedout::Rules::parse(&source).map_err(|error| format!("{file}: {error}"))?;
    let mut list = String::new();
    std::io::stdin().read_to_string(&mut list).map_err(|error| error.to_string())?;
    if reasons {
        return Ok(weedout::explain(&rules, &list));
    }
    Ok(weedout::kept(&rules, &list).iter().map(|path| format!("{path}\n")).collect())
}
