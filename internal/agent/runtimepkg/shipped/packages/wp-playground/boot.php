<?php
// One request to WordPress: activate what is worked on, or do the work. result.json says how far it came, so that an exit, or
// a fatal error, is not taken for an end. What the code returns is its own word.

$deed = json_decode( file_get_contents( '/deed/job.json' ), true );
chdir( $deed['dir'] );
$argv = $deed['args'] ?? array();
$argc = count( $argv );

function deed_told( $phase, $more = array() ) {
	$flags = JSON_INVALID_UTF8_SUBSTITUTE | JSON_PARTIAL_OUTPUT_ON_ERROR;
	file_put_contents( '/deed/result.json', json_encode( array( 'phase' => $phase, 'php' => PHP_VERSION, 'wordpress' => $GLOBALS['wp_version'] ?? '' ) + $more, $flags ) );
}

ini_set( 'display_errors', '0' ); // they are logged, which is standard error here
set_time_limit( 0 );
define( 'WP_DISABLE_FATAL_ERROR_HANDLER', true ); // a fatal error is evidence, not a page
define( 'DISABLE_WP_CRON', true );
define( 'AUTOMATIC_UPDATER_DISABLED', true );
define( 'DISALLOW_FILE_MODS', true );
define( 'WP_HTTP_BLOCK_EXTERNAL', true );
$_SERVER += array( 'HTTP_HOST' => 'wordpress.invalid', 'SERVER_NAME' => 'wordpress.invalid', 'REQUEST_METHOD' => 'GET', 'SERVER_PROTOCOL' => 'HTTP/1.1' );
$_SERVER['REQUEST_URI'] = '/';
require '/wordpress/wp-load.php';
wp_set_current_user( 1 );
deed_told( 'run' );

// deed_ability finds what carries out an ability: a file of the workspace's deed-abilities.json, else one that is registered.
function deed_ability( $name, $dir ) {
	$list = is_file( $dir . '/deed-abilities.json' ) ? json_decode( file_get_contents( $dir . '/deed-abilities.json' ), true ) : array();
	foreach ( $list['abilities'] ?? array() as $entry ) {
		if ( $name !== ( $entry['name'] ?? '' ) ) {
			continue;
		}
		if ( empty( $entry['php'] ) ) {
			throw new Exception( "the ability $name is a command of the machine, and there is none in here: give it a php file" );
		}
		return require $dir . '/' . $entry['php'];
	}
	$registered = function_exists( 'wp_get_ability' ) ? wp_get_ability( $name ) : null;
	if ( ! $registered ) {
		throw new Exception( "there is no ability $name: neither deed-abilities.json of the workspace nor WordPress has it" );
	}
	return array( $registered, 'execute' );
}

try {
	switch ( $deed['do'] ) {
		case 'activate':
			require_once ABSPATH . 'wp-admin/includes/plugin.php';
			$deed_result = 'theme' === $deed['load_as'] ? switch_theme( $deed['slug'] ) : activate_plugin( $deed['file'] );
			break;
		case 'ability':
			$deed_result = call_user_func( deed_ability( $deed['ability'], $deed['dir'] ), $deed['input'] );
			break;
		case 'file':
			$deed_result = require $deed['file'];
			break;
		default:
			$deed_result = eval( $deed['code'] );
	}
	if ( is_wp_error( $deed_result ) ) {
		deed_told( 'done', array( 'error' => $deed_result->get_error_code() . ': ' . $deed_result->get_error_message() ) );
	} elseif ( false === $deed_result && 'activate' !== $deed['do'] ) {
		deed_told( 'done', array( 'error' => 'it returned false' ) );
	} else {
		deed_told( 'done', array( 'result' => $deed_result ) );
	}
} catch ( Throwable $e ) {
	deed_told( 'done', array( 'error' => get_class( $e ) . ': ' . $e->getMessage() . ' in ' . $e->getFile() . ':' . $e->getLine() ) );
}
