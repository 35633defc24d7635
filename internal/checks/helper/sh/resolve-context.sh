# Context: `homeboy_resolve_context [--project-alias NAME] [--component-alias NAME]` exports EXTENSION_PATH,
# COMPONENT_PATH, COMPONENT_ID, PROJECT_PATH, PLUGIN_PATH and the aliases. An unknown argument, or an extension that
# cannot be found, is status 2.
# deed:include context.sh

# Scripts that bring a helper of their own under this name expect PLUGIN_PATH as soon as it is sourced.
if [ -n "${HOMEBOY_COMPONENT_PATH:-}" ] && [ -z "${PLUGIN_PATH:-}" ]; then
  PLUGIN_PATH=$HOMEBOY_COMPONENT_PATH
  export PLUGIN_PATH
fi
