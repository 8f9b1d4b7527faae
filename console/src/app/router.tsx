import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'
import { readChecksSearch } from '../screens/checks/search.js'
import { readLineageSearch } from '../screens/lineage/search.js'
import { readDataSearch } from '../screens/pipeline/data/search.js'
import { readNewSearch } from '../screens/pipeline-new/search.js'
import { readPipelinesSearch } from '../screens/pipelines/search.js'
import { readQualitySearch } from '../screens/quality/search.js'
import { readQuarantineSearch } from '../screens/quarantine/search.js'
import { readRunSearch } from '../screens/run/search.js'
import { readRunnersSearch } from '../screens/runners/search.js'
import { readRunsSearch } from '../screens/runs/search.js'
import { readAuditSearch, readSessionsSearch, readTokensSearch } from '../screens/settings/search.js'
import { NotFound, ScreenFailed } from './fallbacks.js'
import { setRouter } from './router-handle.js'
import { Shell } from './shell/Shell.js'

/*
 * Every address of the console. A tab is a route, a filter is a search parameter: every view can be shared as a link.
 * Screens are loaded when they are first opened; only their search parameters are known before.
 */
const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: ScreenFailed })

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => import('../screens/overview/OverviewScreen.js'), 'OverviewScreen'),
})

const pipelines = createRoute({
  getParentRoute: () => root,
  path: '/pipelines',
  validateSearch: readPipelinesSearch,
  component: lazyRouteComponent(() => import('../screens/pipelines/PipelinesScreen.js'), 'PipelinesScreen'),
})

const importPipelines = createRoute({
  getParentRoute: () => root,
  path: '/pipelines/import',
  component: lazyRouteComponent(() => import('../screens/pipeline-import/ImportScreen.js'), 'ImportScreen'),
})

const newPipeline = createRoute({
  getParentRoute: () => root,
  path: '/pipelines/new',
  validateSearch: readNewSearch,
  component: lazyRouteComponent(
    () => import('../screens/pipeline-new/NewPipelineScreen.js'),
    'NewPipelineScreen',
  ),
})

const pipeline = createRoute({
  getParentRoute: () => root,
  path: '/pipelines/$id',
  component: lazyRouteComponent(() => import('../screens/pipeline/PipelineLayout.js'), 'PipelineLayout'),
})

const pipelineIndex = createRoute({
  getParentRoute: () => pipeline,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/pipelines/$id/overview', params })
  },
})

const pipelineTabs = [
  createRoute({
    getParentRoute: () => pipeline,
    path: '/overview',
    component: lazyRouteComponent(() => import('../screens/pipeline/OverviewTab.js'), 'OverviewTab'),
  }),
  createRoute({
    getParentRoute: () => pipeline,
    path: '/sql',
    component: lazyRouteComponent(() => import('../screens/pipeline/SqlTab.js'), 'SqlTab'),
  }),
  createRoute({
    getParentRoute: () => pipeline,
    path: '/config',
    component: lazyRouteComponent(() => import('../screens/pipeline/ConfigTab.js'), 'ConfigTab'),
  }),
  createRoute({
    getParentRoute: () => pipeline,
    path: '/versions',
    component: lazyRouteComponent(() => import('../screens/pipeline/VersionsTab.js'), 'VersionsTab'),
  }),
  createRoute({
    getParentRoute: () => pipeline,
    path: '/runs',
    component: lazyRouteComponent(() => import('../screens/pipeline/RunsTab.js'), 'RunsTab'),
  }),
  createRoute({
    getParentRoute: () => pipeline,
    path: '/state',
    component: lazyRouteComponent(() => import('../screens/pipeline/StateTab.js'), 'StateTab'),
  }),
  createRoute({
    getParentRoute: () => pipeline,
    path: '/quality',
    component: lazyRouteComponent(() => import('../screens/pipeline/QualityTab.js'), 'QualityTab'),
  }),
  createRoute({
    getParentRoute: () => pipeline,
    path: '/data',
    validateSearch: readDataSearch,
    component: lazyRouteComponent(() => import('../screens/pipeline/data/DataTab.js'), 'DataTab'),
  }),
  createRoute({
    getParentRoute: () => pipeline,
    path: '/checks',
    component: lazyRouteComponent(() => import('../screens/pipeline/ChecksTab.js'), 'ChecksTab'),
  }),
] as const

const runs = createRoute({
  getParentRoute: () => root,
  path: '/runs',
  validateSearch: readRunsSearch,
  component: lazyRouteComponent(() => import('../screens/runs/RunsScreen.js'), 'RunsScreen'),
})

const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$id',
  validateSearch: readRunSearch,
  component: lazyRouteComponent(() => import('../screens/run/RunScreen.js'), 'RunScreen'),
})

const quality = createRoute({
  getParentRoute: () => root,
  path: '/quality',
  validateSearch: readQualitySearch,
  component: lazyRouteComponent(() => import('../screens/quality/QualityScreen.js'), 'QualityScreen'),
})

const checks = createRoute({
  getParentRoute: () => root,
  path: '/checks',
  validateSearch: readChecksSearch,
  component: lazyRouteComponent(() => import('../screens/checks/ChecksScreen.js'), 'ChecksScreen'),
})

const quarantine = createRoute({
  getParentRoute: () => root,
  path: '/quarantine',
  validateSearch: readQuarantineSearch,
  component: lazyRouteComponent(
    () => import('../screens/quarantine/QuarantineScreen.js'),
    'QuarantineScreen',
  ),
})

const lineage = createRoute({
  getParentRoute: () => root,
  path: '/lineage',
  validateSearch: readLineageSearch,
  component: lazyRouteComponent(() => import('../screens/lineage/LineageScreen.js'), 'LineageScreen'),
})

const order = createRoute({
  getParentRoute: () => root,
  path: '/order',
  component: lazyRouteComponent(() => import('../screens/order/OrderScreen.js'), 'OrderScreen'),
})

const runners = createRoute({
  getParentRoute: () => root,
  path: '/runners',
  validateSearch: readRunnersSearch,
  component: lazyRouteComponent(() => import('../screens/runners/RunnersScreen.js'), 'RunnersScreen'),
})

const sources = createRoute({
  getParentRoute: () => root,
  path: '/sources',
  component: lazyRouteComponent(() => import('../screens/sources/SourcesScreen.js'), 'SourcesScreen'),
})

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: lazyRouteComponent(() => import('../screens/settings/SettingsLayout.js'), 'SettingsLayout'),
})

const settingsIndex = createRoute({
  getParentRoute: () => settings,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/settings/connections' })
  },
})

const settingsTabs = [
  createRoute({
    getParentRoute: () => settings,
    path: '/connections',
    component: lazyRouteComponent(() => import('../screens/settings/ConnectionsTab.js'), 'ConnectionsTab'),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/notifications',
    component: lazyRouteComponent(
      () => import('../screens/settings/NotificationsTab.js'),
      'NotificationsTab',
    ),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/tokens',
    validateSearch: readTokensSearch,
    component: lazyRouteComponent(() => import('../screens/settings/TokensTab.js'), 'TokensTab'),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/sessions',
    validateSearch: readSessionsSearch,
    component: lazyRouteComponent(() => import('../screens/settings/SessionsTab.js'), 'SessionsTab'),
  }),
  createRoute({
    getParentRoute: () => settings,
    // There are no user accounts: identity and permissions belong to a token.
    path: '/users',
    beforeLoad: () => {
      throw redirect({ to: '/settings/tokens' })
    },
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/audit',
    validateSearch: readAuditSearch,
    component: lazyRouteComponent(() => import('../screens/settings/AuditTab.js'), 'AuditTab'),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: '/about',
    component: lazyRouteComponent(() => import('../screens/settings/AboutTab.js'), 'AboutTab'),
  }),
] as const

const tree = root.addChildren([
  overview,
  pipelines,
  newPipeline,
  importPipelines,
  pipeline.addChildren([pipelineIndex, ...pipelineTabs]),
  runs,
  run,
  quality,
  checks,
  quarantine,
  lineage,
  order,
  runners,
  sources,
  settings.addChildren([settingsIndex, ...settingsTabs]),
])

export const appRouter = createRouter({
  routeTree: tree,
  basepath: '/ui',
  defaultPreload: 'intent',
  defaultPendingMs: 150,
  scrollRestoration: true,
  // Plain text in the address, not JSON: `?q=film&status=failed` is readable.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
    const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString()
    return text === '' ? '' : `?${text}`
  },
})
setRouter(appRouter)

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof appRouter
  }
}
