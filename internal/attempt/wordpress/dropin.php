<?php
// The drop-in that puts SQLite in the place of MySQL. Its implementation is mounted outside wp-content, where no
// plugin of the run can take its place.
define( 'DATABASE_TYPE', 'sqlite' );
define( 'DB_ENGINE', 'sqlite' );
define( 'SQLITE_DB_DROPIN_VERSION', 'deed' );
require_once '/run/deed/wordpress-sqlite/wp-includes/sqlite/db.php';
