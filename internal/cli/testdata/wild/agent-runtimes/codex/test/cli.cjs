// Stands in for the agent's own command line: it changes a file and prints what it was told and has.
const fs = require('fs');
fs.writeFileSync('answer.txt', process.argv.slice(2).join(' ') + '\n');
console.log('token', process.env.AI_PROVIDER_OPENAI_CODEX_ACCESS_TOKEN, 'expires', process.env.AI_PROVIDER_OPENAI_CODEX_EXPIRES_AT, 'stray', process.env.AWS_SECRET_ACCESS_KEY);
