package vitrina;

import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.apache.lucene.analysis.CharArraySet;
import org.apache.lucene.analysis.FilteringTokenFilter;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.email.UAX29URLEmailTokenizer;
import org.apache.lucene.analysis.pattern.PatternCaptureGroupTokenFilter;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.index.analysis.AbstractTokenFilterFactory;
import org.elasticsearch.index.analysis.TokenFilterFactory;
import org.elasticsearch.index.analysis.TokenizerFactory;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.elasticsearch.plugins.AnalysisPlugin;
import org.elasticsearch.plugins.Plugin;

/**
 * Three parts of the module analysis-common, which Elastic's build for tests lacks. The index in which the server keeps
 * API keys is created with an analyzer that consists of them.
 */
public class EmailAnalysis extends Plugin implements AnalysisPlugin {
    @Override
    public Map<String, AnalysisProvider<TokenizerFactory>> getTokenizers() {
        return Map.of("uax_url_email", (index, environment, name, settings) ->
            TokenizerFactory.newFactory(name, UAX29URLEmailTokenizer::new));
    }

    @Override
    public Map<String, AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
        return Map.of("pattern_capture", filter(EmailAnalysis::capture), "unique", filter(settings -> Unique::new));
    }

    private static Function<TokenStream, TokenStream> capture(Settings settings) {
        boolean preserve = settings.getAsBoolean("preserve_original", true);
        Pattern[] patterns = settings.getAsList("patterns").stream().map(Pattern::compile).toArray(Pattern[]::new);
        return tokens -> new PatternCaptureGroupTokenFilter(tokens, preserve, patterns);
    }

    private static AnalysisProvider<TokenFilterFactory> filter(Function<Settings, Function<TokenStream, TokenStream>> make) {
        return (index, environment, name, settings) -> {
            Function<TokenStream, TokenStream> wrap = make.apply(settings);
            return new AbstractTokenFilterFactory(name, settings) {
                @Override
                public TokenStream create(TokenStream tokens) {
                    return wrap.apply(tokens);
                }
            };
        };
    }

    private static final class Unique extends FilteringTokenFilter {
        private final CharTermAttribute term = addAttribute(CharTermAttribute.class);
        private final CharArraySet seen = new CharArraySet(8, false);

        Unique(TokenStream tokens) {
            super(tokens);
        }

        @Override
        protected boolean accept() {
            return seen.add(term.toString());
        }

        @Override
        public void reset() throws java.io.IOException {
            super.reset();
            seen.clear();
        }
    }
}
