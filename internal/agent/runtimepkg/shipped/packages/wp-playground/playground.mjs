// Runs one job in PHP that is compiled to WebAssembly. The job comes as JSON on standard input, and one JSON document says on
// standard output what came of it. PHP sees the directories that the job mounts and nothing else of the machine: it has no
// sockets and starts no process, because nothing here gives it any. Nothing is fetched: the modules are on the disk.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const job = JSON.parse(readFileSync(0, 'utf8'));
const load = (name) => import(pathToFileURL(join(job.modules, 'node_modules', '@php-wasm', name, 'index.js')).href);
const { PHP, loadPHPRuntime, setPhpIniEntries } = await load('universal');
const { getPHPLoaderModule } = await load('node-8-3');

const php = new PHP(await loadPHPRuntime(await getPHPLoaderModule(), { ENV: {} }));
for (const { root, target } of job.mounts) {
	php.mkdir(target);
	await php.mount(target, (_, FS, at) => {
		FS.mount(FS.filesystems.NODEFS, { root }, at);
		return () => FS.unmount(at);
	});
}

// There is neither a network nor a process in here. Without this a call for one would end PHP as a whole; so it is an error
// that PHP can catch, and function_exists tells.
await setPhpIniEntries(php, {
	allow_url_fopen: '0',
	disable_functions:
		'fsockopen,pfsockopen,stream_socket_client,stream_socket_server,socket_create,socket_connect,curl_exec,curl_multi_exec,' +
		'dns_get_record,gethostbyname,proc_open,popen,exec,shell_exec,system,passthru,mail',
});
php.mkdir('/deed');
php.writeFile('/deed/boot.php', job.boot);

// What is kept of a stream.
const most = 8 << 20;
const text = (bytes) => Buffer.from(bytes).subarray(0, most).toString('utf8');

// Each step is a request of its own, as WordPress has it: what one activates, the next one finds loaded.
async function run(step) {
	php.writeFile('/deed/job.json', JSON.stringify(step));
	php.writeFile('/deed/result.json', '{"phase":"start"}');
	let response;
	try {
		response = await php.run({ scriptPath: '/deed/boot.php' });
	} catch (error) {
		if (!error.response) throw error; // PHP itself broke
		response = error.response; // PHP ended with a code
	}
	return {
		...JSON.parse(php.readFileAsText('/deed/result.json')),
		exit_code: response.exitCode,
		stdout: text(response.bytes),
		stderr: text(Buffer.from(response.errors)),
	};
}

const steps = [];
for (const step of job.steps) {
	const done = await run(step);
	steps.push(done);
	if (done.phase !== 'done' || done.error) break;
}
process.stdout.write(JSON.stringify({ steps }), () => process.exit(0));
