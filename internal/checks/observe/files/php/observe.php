<?php

// Observes PHPUnit and what stands on it: they are asked for one report more. PHP runs this file before every program
// (auto_prepend_file), so it leaves at once where the program is none of them.

(static function (): void {
    $main = $_SERVER['argv'][0] ?? '';
    $runner = basename((string) $main, '.phar');
    if (PHP_SAPI !== 'cli' || !in_array($runner, ['phpunit', 'pest'], true) || getenv('DEED_OBSERVE_INSIDE')) {
        return;
    }
    $arguments = array_slice($_SERVER['argv'], 1);
    $asked = null; // the project's own report, which is then read instead
    foreach ($arguments as $i => $argument) {
        if (preg_match('/^--(version|help|list-|generate-|migrate-|check-|atleast-)/', $argument) || $argument === '-h') {
            return;
        }
        if ($argument === '--log-junit') {
            $asked = $arguments[$i + 1] ?? null;
        } elseif (strncmp($argument, '--log-junit=', 12) === 0) {
            $asked = substr($argument, 12);
        }
    }
    $dir = dirname(__DIR__) . '/reports/phpunit.' . getmypid() . '-' . bin2hex(random_bytes(4));
    if (!@mkdir($dir)) {
        return;
    }
    $here = getcwd();
    file_put_contents("$dir/cwd", $here);
    $report = "$dir/report.junit";
    if ($asked === null) {
        array_splice($_SERVER['argv'], 1, 0, ['--log-junit', $report]);
        $GLOBALS['argv'] = $_SERVER['argv'];
        $_SERVER['argc'] = $GLOBALS['argc'] = count($_SERVER['argv']);
    }
    putenv('DEED_OBSERVE_INSIDE=phpunit');
    $process = getmypid();
    $began = time();
    register_shutdown_function(static function () use ($dir, $report, $asked, $here, $process, $began): void {
        if (getmypid() !== $process) {
            return; // a child that was forked
        }
        if ($asked !== null) {
            $told = $asked[0] === '/' ? $asked : "$here/$asked";
            clearstatcache();
            if (is_file($told) && filemtime($told) >= $began) {
                @copy($told, $report);
            }
        }
        // PHPUnit writes its report when it has run all tests. Without one it did not.
        if (is_file($report) && filesize($report) > 0) {
            touch("$dir/end");
        }
    });
})();
