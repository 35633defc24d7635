// The junit reporter of node's test runner, which also writes to the file begun.live beside it which test begins and which has ended.
import fs from 'node:fs'
import path from 'node:path'
import { junit } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'

const file = path.join(path.dirname(fileURLToPath(import.meta.url)), 'begun.live')

function note({ type, data }) {
  if (!data || data.name === undefined || data.name === data.file) return
  const where = data.file ? path.relative(process.cwd(), data.file) + ' > ' : ''
  const name = (where + data.name).replace(/\s+/g, ' ')
  if (type === 'test:dequeue') fs.appendFileSync(file, `begin ${name}\n`)
  else if (type === 'test:complete' || type === 'test:pass' || type === 'test:fail') fs.appendFileSync(file, `end ${name}\n`)
}

async function* watched(source) {
  for await (const event of source) {
    note(event)
    yield event
  }
}

export default async function* (source) {
  yield* junit(watched(source))
}
