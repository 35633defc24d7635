package loop

// SystemPrompt is for its golden test.
var SystemPrompt = systemPrompt
