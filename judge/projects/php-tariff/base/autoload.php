<?php

declare(strict_types=1);

spl_autoload_register(static function (string $class): void {
    foreach (['Tariff\\Tests\\' => 'tests/', 'Tariff\\' => 'src/'] as $prefix => $dir) {
        if (strncmp($class, $prefix, strlen($prefix)) === 0) {
            $file = __DIR__ . '/' . $dir . str_replace('\\', '/', substr($class, strlen($prefix))) . '.php';
            if (is_file($file)) {
                require $file;
            }
            return;
        }
    }
});
