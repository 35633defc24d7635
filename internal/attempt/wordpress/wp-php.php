<?php
// The agent's own way into WordPress: runs a file or a piece of code with WordPress and the components loaded. Output,
// errors and exit code are those of the code.

if ( $argc < 2 || ( '-r' === $argv[1] && $argc < 3 ) || '--help' === $argv[1] ) {
	fwrite( STDERR, "usage: wp-php FILE [ARGUMENT...]\n       wp-php -r CODE [ARGUMENT...]\n" );
	exit( 2 );
}
if ( '-r' !== $argv[1] && ! is_file( $argv[1] ) ) {
	fwrite( STDERR, "wp-php: $argv[1] is not a file\n" );
	exit( 2 );
}
require __DIR__ . '/load.php';

if ( '-r' === $argv[1] ) {
	$deed_code = $argv[2];
	$argv      = array_merge( array( '-' ), array_slice( $argv, 3 ) );
	$argc      = count( $argv );
	eval( $deed_code );
} else {
	$argv = array_slice( $argv, 1 );
	$argc = count( $argv );
	require realpath( $argv[0] );
}
