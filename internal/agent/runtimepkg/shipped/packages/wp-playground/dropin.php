<?php
// The drop-in that puts SQLite in the place of MySQL.
define( 'DATABASE_TYPE', 'sqlite' );
define( 'DB_ENGINE', 'sqlite' );
define( 'SQLITE_DB_DROPIN_VERSION', 'deed' );
require_once '/wordpress-sqlite/wp-includes/sqlite/db.php';
