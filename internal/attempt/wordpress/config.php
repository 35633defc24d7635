<?php
// WordPress's configuration in a disposable runtime. The database is SQLite, so the names below lead nowhere. What is
// different in every run, such as the salts, is in site.php.
define( 'DB_NAME', 'wordpress' );
define( 'DB_USER', '' );
define( 'DB_PASSWORD', '' );
define( 'DB_HOST', '' );
define( 'DB_CHARSET', 'utf8' );
define( 'DB_COLLATE', '' );
$table_prefix = 'wp_';

define( 'WP_DEBUG', false );
define( 'WP_DISABLE_FATAL_ERROR_HANDLER', true ); // a fatal error is evidence, not a page
define( 'DISABLE_WP_CRON', true );
define( 'AUTOMATIC_UPDATER_DISABLED', true );
define( 'DISALLOW_FILE_MODS', true );
define( 'WP_HTTP_BLOCK_EXTERNAL', true );
define( 'CONCATENATE_SCRIPTS', false );

require '/run/deed/wordpress/site.php';
if ( ! defined( 'ABSPATH' ) ) {
	define( 'ABSPATH', '/wordpress/' );
}
require_once ABSPATH . 'wp-settings.php';
