<?php
// Loads WordPress as for a visit to its front page. It is required from the global scope, and nowhere else: WordPress's
// files make their variables where they are loaded.

$_SERVER += array( 'HTTP_HOST' => 'wordpress.invalid', 'SERVER_NAME' => 'wordpress.invalid', 'REQUEST_METHOD' => 'GET', 'SERVER_PROTOCOL' => 'HTTP/1.1' );
$_SERVER['REQUEST_URI'] = '/';

require '/wordpress/wp-load.php';
