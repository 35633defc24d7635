export default { cacheDir: '.cache/hidden', test: { include: ['hidden_check/*.check.ts'], environment: 'node' } };
