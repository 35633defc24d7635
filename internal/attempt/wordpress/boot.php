<?php
// The way into WordPress: reads one request from standard input, loads WordPress, does what is asked, and prints one
// line that begins with the request's mark. Everything else on standard output is what plugins printed. Whatever ends
// the process early (a fatal error, exit, wp_die) is reported on that line too, by the shutdown function.

$deed = json_decode( stream_get_contents( STDIN ), true );
if ( ! is_array( $deed ) || empty( $deed['mark'] ) ) {
	fwrite( STDERR, "deed: no request on standard input\n" );
	exit( 2 );
}
$deed += array( 'op' => '', 'done' => array(), 'doing' => null, 'told' => false );

function deed_tell( array $answer ): void {
	global $deed;
	if ( $deed['told'] ) {
		return;
	}
	$deed['told'] = true;
	$answer      += array( 'done' => (object) $deed['done'], 'doing' => $deed['doing'] );
	$flags        = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE;
	$line         = json_encode( $answer, $flags );
	if ( false === $line ) {
		$problem = array( 'class' => 'JsonException', 'message' => 'the result cannot be written as JSON: ' . json_last_error_msg() );
		$line    = json_encode( array( 'status' => 'error', 'error' => $problem, 'done' => (object) $deed['done'], 'doing' => $deed['doing'] ), $flags );
	}
	while ( ob_get_level() > 0 && @ob_end_flush() ) {
		continue;
	}
	fwrite( STDOUT, "\n" . $deed['mark'] . $line . "\n" );
}

function deed_problem( Throwable $e ): array {
	return array( 'class' => get_class( $e ), 'message' => $e->getMessage(), 'file' => $e->getFile(), 'line' => $e->getLine() );
}

register_shutdown_function(
	static function (): void {
		$last  = error_get_last();
		$fatal = E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR;
		if ( $last && ( $last['type'] & $fatal ) ) {
			$problem = array( 'class' => 'Fatal', 'message' => strtok( $last['message'], "\n" ), 'file' => $last['file'], 'line' => $last['line'] );
			deed_tell( array( 'status' => 'fatal', 'error' => $problem ) );
			return;
		}
		deed_tell( array( 'status' => 'exited' ) );
	}
);

require __DIR__ . '/load.php';

// Turns a WP_Error into the answer that it is.
function deed_answer( $value ): array {
	if ( $value instanceof WP_Error ) {
		return array( 'status' => 'error', 'error' => array( 'class' => 'WP_Error', 'code' => (string) $value->get_error_code(), 'message' => $value->get_error_message() ) );
	}
	return array( 'status' => 'ok', 'value' => $value );
}

// The answer of code that was asked for. Code that is a check says no with false, too; what else it returns nobody reads.
function deed_judge( $value ): array {
	global $deed;
	if ( empty( $deed['check'] ) || $value instanceof WP_Error ) {
		return deed_answer( $value );
	}
	if ( false === $value ) {
		return array( 'status' => 'error', 'error' => array( 'class' => 'Check', 'message' => 'the code returned false' ) );
	}
	return array( 'status' => 'ok' );
}

function deed_activate( array $plugins ): array {
	global $deed;
	require_once ABSPATH . 'wp-admin/includes/plugin.php';
	foreach ( $plugins as $plugin ) {
		$deed['doing'] = $plugin;
		$result        = activate_plugin( $plugin );
		if ( ! is_wp_error( $result ) && ! is_plugin_active( $plugin ) ) {
			$result = new WP_Error( 'not_active', 'it is not active after its activation' );
		}
		$deed['done'][ $plugin ] = deed_answer( $result );
	}
	$deed['doing'] = null;
	return array( 'status' => 'ok', 'value' => array( 'wordpress' => $GLOBALS['wp_version'], 'php' => PHP_VERSION, 'abilities' => function_exists( 'wp_get_ability' ) ) );
}

function deed_ability( string $name, $input ): array {
	$ability = function_exists( 'wp_get_ability' ) ? wp_get_ability( $name ) : null;
	if ( null === $ability ) {
		return array( 'status' => 'error', 'error' => array( 'class' => 'WP_Error', 'code' => 'ability_not_found', 'message' => 'no component offers the ability ' . $name ) );
	}
	return deed_answer( $ability->execute( $input ) );
}

function deed_ability_file( string $file, $input ): array {
	$handler = require $file;
	if ( ! is_callable( $handler ) ) {
		return array( 'status' => 'error', 'error' => array( 'class' => 'TypeError', 'message' => 'the file of an ability must return a function', 'file' => $file ) );
	}
	return deed_answer( $handler( $input ) );
}

try {
	if ( ! empty( $deed['user'] ) ) {
		wp_set_current_user( $deed['user'] );
	}
	switch ( $deed['op'] ) {
		case 'activate':
			$deed_result = deed_activate( $deed['plugins'] ?? array() );
			break;
		case 'ability':
			$deed_result = deed_ability( $deed['name'], $deed['input'] ?? null );
			break;
		case 'ability-file':
			$deed_result = deed_ability_file( $deed['file'], $deed['input'] ?? null );
			break;
		case 'file':
			$argv        = array_merge( array( $deed['file'] ), $deed['args'] ?? array() );
			$deed_result = deed_judge( require $deed['file'] );
			break;
		case 'code':
			$argv        = array_merge( array( '-' ), $deed['args'] ?? array() );
			$deed_result = deed_judge( eval( ( str_starts_with( ltrim( $deed['code'] ), '<?' ) ? '?>' : '' ) . $deed['code'] ) );
			break;
		default:
			$deed_result = array( 'status' => 'error', 'error' => array( 'class' => 'ValueError', 'message' => 'unknown operation' ) );
	}
} catch ( Throwable $deed_thrown ) {
	$deed_result = array( 'status' => 'error', 'error' => deed_problem( $deed_thrown ) );
}
deed_tell( $deed_result );
exit( 'ok' === $deed_result['status'] ? 0 : 1 );
