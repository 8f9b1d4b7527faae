export { PendingScreen as QualityScreen } from '../pending/PendingScreen.js'
