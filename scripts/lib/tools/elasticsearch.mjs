import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../run.mjs'
import { cacheFolder, makeFolder } from './cache.mjs'
import { findJava } from './java.mjs'
import { must } from './must.mjs'

/** Elastic's own build for tests: the server without its optional modules, 107 MB. Runs on Java 17 and newer. */
const VERSION = '8.19.21'
const ARTIFACT = `org.elasticsearch.distribution.integ-test-zip:elasticsearch:${VERSION}:zip`
const UNPACK = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack'
const PLUGIN = 'plugins/email-analysis'
const PLUGIN_SOURCE = join(ROOT, 'tests/support/elasticsearch-plugin/EmailAnalysis.java')
const NO_JAVA = 'Java 17 or newer was not found'

export const elasticsearch = {
  name: `Elasticsearch ${VERSION}`,
  /** Debian packages, where the machine lacks what they bring. */
  needs: ['default-jdk-headless', 'maven'],

  async find() {
    const java = await findJava()
    if (java === null) return { missing: NO_JAVA }
    const folder = folderFor(java)
    if (!existsSync(folder)) return { missing: `${folder} does not exist` }
    return { folder, java: java.home, makesApiKeys: java.hasCompiler }
  },

  async install() {
    const java = await findJava()
    if (java === null) throw new Error(NO_JAVA)
    const folder = folderFor(java)
    await makeFolder(folder, async (work) => {
      const args = ['-q', '-B', UNPACK, `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${work}`]
      // Without a pom.xml the plugin writes a folder named ${project.basedir} where it runs.
      await must('mvn', args, { cwd: work })
      const unpacked = join(work, `elasticsearch-${VERSION}`)
      if (java.hasCompiler) await addPlugin(unpacked, join(work, 'classes'), java.home)
      return unpacked
    })
  },
}

/** Two names: a server that was installed without a compiler lacks the plugin. */
function folderFor({ hasCompiler }) {
  return join(cacheFolder(), `elasticsearch-${VERSION}${hasCompiler ? '-with-api-keys' : ''}`)
}

/**
 * This build lacks the module analysis-common, and without three parts of it the server cannot create the index in
 * which it keeps API keys. The plugin adds those three; a build with all modules is a download of 900 MB.
 */
async function addPlugin(server, classes, java) {
  const plugin = join(server, PLUGIN)
  await mkdir(plugin, { recursive: true })
  const compiler = join(java, 'bin/javac')
  await must(compiler, ['-proc:none', '-d', classes, '-cp', join(server, 'lib/*'), PLUGIN_SOURCE])
  await must(join(java, 'bin/jar'), ['cf', join(plugin, 'email-analysis.jar'), '-C', classes, '.'])
  const description = {
    name: 'email-analysis',
    description: 'What the index of the security module needs',
    version: '1',
    'elasticsearch.version': VERSION,
    'java.version': '17',
    classname: 'vitrina.EmailAnalysis',
  }
  const lines = Object.entries(description).map(([name, value]) => `${name}=${value}\n`)
  await writeFile(join(plugin, 'plugin-descriptor.properties'), lines.join(''))
}
