<?php
/**
 * Plugin Name: deed runtime components
 * Description: Loads the MU plugins of the run in their order, before every user-visible plugin.
 */
foreach ( require '/run/deed/wordpress/components.php' as $deed_component ) {
	require_once WPMU_PLUGIN_DIR . '/contained-runtime/' . $deed_component;
}
unset( $deed_component );
