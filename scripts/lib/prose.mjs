import ts from 'typescript'

/** Neither a word nor a space, so that no phrase reaches across what was covered. */
const COVER = '\0'
/** Output of a program is quoted unchanged, so its words are not checked. */
const PRINTED = /^```(?:text|json)\n[\s\S]*?^```$/gm
const INLINE_CODE = /`[^`\n]+`/g
const LINK_TARGET = /(?<=\])\([^)\s]+\)/g
const PYTHON_TEXT = /#[^\n]*|"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g
/** Where a line of a comment begins: not part of the sentence that runs on from the line before. */
const COMMENT_MARK = /^[ \t]*(?:\/\*+|\*+\/?|\/\/+|#+|--)(?=\s|$)/gm
/** Names of kinds, columns, files: code in quotes. */
const NAME = /^['"`][a-z][\w./:-]*['"`]$/

/** What a person reads of a file: the same number of characters and lines, with everything else covered. */
export function proseOf(file, content) {
  return visible(file, content).replace(COMMENT_MARK, (mark) => ' '.repeat(mark.length))
}

function visible(file, content) {
  if (file.endsWith('.md')) return [PRINTED, INLINE_CODE, LINK_TARGET].reduce(covered, content)
  if (/\.(?:ts|tsx|mts|mjs)$/.test(file)) return only(rangesOfCode(file, content), content)
  if (file.endsWith('.py')) {
    const texts = [...content.matchAll(PYTHON_TEXT)].map(({ 0: text, index }) => [index, index + text.length])
    return only(texts, content)
  }
  return content
}

function covered(content, pattern) {
  return content.replace(pattern, cover)
}

function cover(text) {
  return text.replace(/[^\n]/g, COVER)
}

function only(ranges, content) {
  let shown = ''
  for (const [start, end] of ranges) {
    if (end <= shown.length) continue
    const from = Math.max(start, shown.length)
    shown += cover(content.slice(shown.length, from)) + content.slice(from, end)
  }
  return shown + cover(content.slice(shown.length))
}

/** Comments, strings, templates and JSX text, in their order. Identifiers are not sentences. */
function rangesOfCode(file, content) {
  const source = ts.createSourceFile(file, content, ts.ScriptTarget.Latest, true)
  const ranges = []
  const visit = (node) => {
    if (ts.isJSDoc(node)) return void ranges.push([node.pos, node.end])
    const children = node.getChildren(source)
    for (const child of children) visit(child)
    if (children.length > 0) return
    const start = node.getStart(source)
    // Before a token there are only comments.
    ranges.push([node.pos, start])
    if (isText(node) && !NAME.test(content.slice(start, node.end))) ranges.push([start, node.end])
  }
  visit(source)
  return ranges.sort(([one], [other]) => one - other)
}

function isText(node) {
  if (
    ts.isStringLiteral(node) &&
    (ts.isImportDeclaration(node.parent) || ts.isExportDeclaration(node.parent))
  )
    return false
  return (
    ts.isStringLiteralLike(node) ||
    ts.isTemplateHead(node) ||
    ts.isTemplateMiddleOrTemplateTail(node) ||
    ts.isJsxText(node)
  )
}
