process.exit(Number(process.versions.node.split('.')[0]) >= 18 ? 0 : 1);
