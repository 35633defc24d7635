// Lists the packages of a workspace, in an order in which each comes after those that it depends on: the directory, a tab, and `own` when
// its test script is not reached by that of the root, else `root`. Package managers know members by package.json or pnpm-workspace.yaml.
'use strict'
const fs = require('fs')
const path = require('path')

function read(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

function patterns(root) {
  const list = Array.isArray(root.workspaces) ? root.workspaces : (root.workspaces && root.workspaces.packages) || []
  if (list.length > 0 || !fs.existsSync('pnpm-workspace.yaml')) return list.filter((p) => typeof p === 'string')
  const out = []
  let inside = false
  for (const line of fs.readFileSync('pnpm-workspace.yaml', 'utf8').split('\n')) {
    if (/^packages\s*:/.test(line)) inside = true
    else if (/^\S/.test(line) && !/^(-|#)/.test(line)) inside = false
    const item = inside && /^\s*-\s+(['"]?)(.+?)\1\s*(#.*)?$/.exec(line)
    if (item) out.push(item[2])
  }
  return out
}

// expand lists the directories below dir that the parts of a pattern fit.
function expand(dir, parts) {
  if (parts.length === 0) return [dir]
  const [first, ...rest] = parts
  if (first === '.' || first === '') return expand(dir, rest)
  if (!/[*?{[]/.test(first)) return fs.existsSync(path.join(dir, first)) ? expand(path.join(dir, first), rest) : []
  let entries = []
  try {
    entries = fs.readdirSync(dir || '.', { withFileTypes: true })
  } catch {
    return []
  }
  const below = entries.filter((e) => e.isDirectory() && e.name !== 'node_modules' && !e.name.startsWith('.')).map((e) => e.name).sort()
  if (first === '**') return [...expand(dir, rest), ...below.flatMap((name) => expand(path.join(dir, name), parts))]
  return below.filter((name) => fits(first, name)).flatMap((name) => expand(path.join(dir, name), rest))
}

// fits holds a name against one part of a pattern.
function fits(pattern, name) {
  const source = pattern.replace(/[.+^$()|\\]/g, '\\$&').replace(/\*/g, '[^/]*').replace(/\?/g, '[^/]').replace(/\{([^}]*)\}/g, (_, list) => '(' + list.split(',').join('|') + ')')
  return new RegExp('^' + source + '$').test(name)
}

function members(root) {
  const found = new Map()
  for (const pattern of patterns(root)) {
    const out = pattern.startsWith('!')
    for (const dir of expand('', pattern.replace(/^!/, '').replace(/\/+$/, '').split('/'))) {
      const p = dir && !dir.startsWith('..') && read(path.join(dir, 'package.json'))
      if (out) found.delete(dir)
      else if (p) found.set(dir, { dir, pattern, p })
    }
  }
  return [...found.values()]
}

function sorted(list) {
  const byName = new Map(list.map((m) => [m.p.name, m]))
  const out = []
  const seen = new Set()
  const visit = (m) => {
    if (seen.has(m)) return
    seen.add(m)
    for (const name of Object.keys({ ...m.p.dependencies, ...m.p.devDependencies })) {
      if (byName.has(name)) visit(byName.get(name))
    }
    out.push(m)
  }
  list.forEach(visit)
  return out
}

// testText is all that the test script of the root runs, as far as scripts name one another.
function testText(scripts) {
  const names = ['test', 'pretest', 'posttest'].filter((n) => typeof scripts[n] === 'string')
  for (let i = 0; i < names.length; i++) {
    for (const other of Object.keys(scripts)) {
      const word = new RegExp('(^|[\\s"\'])' + other.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') + '($|[\\s"\';&|])')
      if (!names.includes(other) && word.test(scripts[names[i]])) names.push(other)
    }
  }
  return names.map((n) => scripts[n]).join('\n')
}

const recursive = /(^|\s)(-ws|-w|-r|--workspaces?|--recursive|--filter|-F|workspaces?|recursive|lerna|turbo|nx|wsrun|rush|moon|ultra)(=|\s|$)/m

const root = read('package.json') || {}
const scripts = root.scripts || {}
const text = testText(scripts)
const whole = recursive.test(text) || /^\s*node --test\s*$/.test(scripts.test || '')
for (const m of sorted(members(root))) {
  const named = [m.dir, m.pattern.replace(/[*?{[].*$/, '').replace(/\/+$/, '')].some((at) => at !== '' && text.includes(at.split(path.sep).join('/')))
  console.log(m.dir + '\t' + (whole || named ? 'root' : 'own'))
}
