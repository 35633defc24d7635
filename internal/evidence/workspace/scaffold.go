package workspace

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
)

var slugPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`) })

// maxSlug is what a name of a file can have, less the suffix.
const maxSlug = 128

// scaffold writes a minimal plugin or theme that WordPress loads as it is.
func scaffold(src Source, dst string) error {
	root, err := os.OpenRoot(dst)
	if err != nil {
		return err
	}
	defer root.Close()
	name := headerText(src.Name)
	if name == "" {
		name = src.Slug
	}
	files := pluginFiles(src.Slug, name)
	if src.Kind == SourceTheme {
		files = themeFiles(src.Slug, name)
	}
	for file, text := range files {
		if err := root.WriteFile(file, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write scaffold: %w", err)
		}
		if err := root.Chmod(file, 0o644); err != nil {
			return fmt.Errorf("write scaffold: %w", err)
		}
	}
	return nil
}

// headerText keeps a name from ending the comment or the line that it is in.
func headerText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	for _, end := range []string{"*/", "?>", "==="} {
		for strings.Contains(s, end) {
			s = strings.ReplaceAll(s, end, "")
		}
	}
	return strings.Join(strings.Fields(s), " ")
}

func pluginFiles(slug, name string) map[string]string {
	return map[string]string{
		slug + ".php": `<?php
/**
 * Plugin Name: ` + name + `
 * Description: A plugin.
 * Version: 0.1.0
 * Requires at least: 6.0
 * Requires PHP: 7.4
 * License: GPL-2.0-or-later
 * Text Domain: ` + slug + `
 */

defined( 'ABSPATH' ) || exit;
`,
		"readme.txt": "=== " + name + ` ===
Requires at least: 6.0
Requires PHP: 7.4
Stable tag: 0.1.0
License: GPL-2.0-or-later

A plugin.

== Description ==

A plugin.
`,
	}
}

func themeFiles(slug, name string) map[string]string {
	return map[string]string{
		"style.css": `/*
Theme Name: ` + name + `
Description: A theme.
Version: 0.1.0
Requires at least: 6.0
Requires PHP: 7.4
License: GPL-2.0-or-later
Text Domain: ` + slug + `
*/
`,
		"index.php": `<?php
get_header();
while ( have_posts() ) {
	the_post();
	the_title( '<h1>', '</h1>' );
	the_content();
}
get_footer();
`,
		"functions.php": `<?php
defined( 'ABSPATH' ) || exit;

add_action(
	'after_setup_theme',
	static function () {
		add_theme_support( 'title-tag' );
		add_theme_support( 'post-thumbnails' );
	}
);
`,
	}
}
