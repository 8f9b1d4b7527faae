import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { failure, ROOT } from './run.mjs'

const LICENCE_FILE = /^(licen[cs]e|copying|ofl|notice)/i
const LINE = '='.repeat(80)

/** Folders of the packages whose code, styles or fonts are inside of the program or the console. */
export function bundledPackages() {
  const read = (file) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'))
  return { program: read('dist/.bundled.json'), console: read('console/dist/.bundled.json') }
}

/** Repeats the licences of what is bundled: the files of those packages are not part of ours. */
export function writeNotices(file) {
  const { program, console } = bundledPackages()
  const notices = [...new Set([...program, ...console])].sort().map(noticeOf)
  const title = `Vitrina contains ${notices.length} packages of others, under these licences: ${program.length} in the program (dist/bundle), ${console.length} in the console (console/dist).\n`
  writeFileSync(file, [title, ...notices].join(`\n${LINE}\n`))
}

function noticeOf(folder) {
  const about = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
  const files = readdirSync(join(ROOT, folder)).filter((name) => LICENCE_FILE.test(name))
  const texts = files.sort().map((name) => readFileSync(join(ROOT, folder, name), 'utf8').trim())
  const text = texts.length > 0 ? texts.join('\n\n') : standardText(about)
  return `${about.name} ${about.version} (${about.license})\n\n${text}\n`
}

/** Some packages declare a licence without including its text. */
function standardText({ name, license, author }) {
  const owner = typeof author === 'string' ? author : author?.name
  if (license !== 'MIT' || !owner)
    throw failure(`${name} is bundled and has no licence text.`, 'Add its text to scripts/lib/notices.mjs.')
  return `The MIT License (MIT)\n\nCopyright (c) ${owner.replace(/\s*<.*$/, '')}\n\n${MIT}`
}

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`
