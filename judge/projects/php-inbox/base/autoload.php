<?php

spl_autoload_register(static function (string $class): void {
    $map = ['Inbox\\Tests\\' => __DIR__ . '/tests/', 'Inbox\\' => __DIR__ . '/src/'];
    foreach ($map as $prefix => $dir) {
        if (str_starts_with($class, $prefix)) {
            $file = $dir . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
            if (is_file($file)) {
                require $file;
            }
            return;
        }
    }
});
