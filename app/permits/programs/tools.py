"""Programs that are known to run, build, check or serve something, and to speak with nobody by themselves.

They are judged as those that nobody knows, and may be asked for their version.
"""

from app.permits.calls import Table, always, table

TOOLS: Table = table(
    (
        # What builds
        "scons wix buck2 pants ccmake qmake qmake6 gn cpack premake premake4 premake5 tup samurai "
        "samu msbuild xbuild nant cake phing robo jake mage "
        # What shows a file with the program that is for it
        "open xdg-open "
        # Databases that move
        "dbmate flyway liquibase alembic sqlx diesel sea-orm-cli typeorm sequelize knex prisma drizzle-kit "
        "mikro-orm "
        # Documents and pages
        "asciidoctor asciidoc a2x pandoc sphinx-build sphinx-quickstart sphinx-apidoc sphinx-autobuild "
        "mkdocs mdbook doxygen typedoc jsdoc yard yardoc rdoc ri pdoc pdoc3 pydoc javadoc rustdoc hugo "
        "jekyll gitbook honkit zola eleventy docsify vuepress vitepress docusaurus middleman pelican nikola "
        "mkdocstrings antora jupyter-book jupytext nbconvert latex pdflatex xelatex lualatex latexmk tex "
        "pdftex tectonic bibtex biber makeindex typst texi2pdf makeinfo texi2any groff troff mandoc "
        "help2man ronn xsltproc xmlto plantuml mmdc dot neato fdp sfdp twopi circo gnuplot d2 "
        # Pictures, sound, papers
        "ffmpeg ffprobe sox magick convert identify mogrify composite montage gs inkscape rsvg-convert svgo "
        "optipng pngquant pngcrush oxipng jpegoptim jpegtran cwebp dwebp gifsicle exiftool qpdf pdftk "
        "pdftotext pdftoppm pdfunite pdfseparate img2pdf ocrmypdf tesseract libreoffice soffice unoconv "
        "wkhtmltopdf weasyprint "
        # Checks and formats
        "autoflake autopep8 yapf pycodestyle pydocstyle pyflakes pylama prospector vulture radon mccabe "
        "interrogate refurb pyupgrade reorder-python-imports docformatter codespell typos cspell aspell "
        "hunspell vale proselint alex write-good textlint markdownlint markdownlint-cli2 mdformat mdl "
        "remark prettierd oxlint xo standard tslint jshint jscs eslint_d stylua luacheck selene ktlint "
        "detekt checkstyle pmd spotbugs google-java-format scalafmt scalafix hlint ormolu fourmolu "
        "stylish-haskell brittany hindent ocamlformat rustfmt clang-format clang-tidy clang-check cppcheck "
        "cpplint iwyu astyle uncrustify indent swiftlint swiftformat dartfmt gofumpt staticcheck golint "
        "revive gosec errcheck ineffassign gocyclo goreturns gopls golines misspell buf protolint protoc "
        "protoc-gen-go ansible-lint tflint tfsec terrascan checkov kube-linter kube-score conftest opa "
        "regal cue jsonnet jsonnetfmt dhall taplo yamlfmt jsonlint ajv sqlfluff sqlfmt pgformatter "
        "dockerfilelint dockle actionlint zizmor gixy phpcs phpcbf php-cs-fixer phpstan psalm phan phpmd "
        "phpcpd phploc rector pint parallel-lint deptrac infection phpspec behat codecept pest kahlan "
        "paratest atoum brakeman reek flog flay fasterer standardrb erb_lint haml-lint slim-lint rubycritic "
        "steep sorbet srb tapioca credo dialyzer erlfmt zprint cljfmt clj-kondo joker stylelint_d purgecss "
        "postcss autoprefixer sass sassc lessc tailwindcss unocss "
        # Bundles and serves scripts
        "tsup tsx ts-node ts-node-esm esno jiti microbundle unbuild pkgroll ncc snowpack rspack rsbuild "
        "turbopack rolldown terser uglifyjs babel-node flow tsd dts-bundle-generator api-extractor madge "
        "depcheck knip dpdm publint attw size-limit bundlesize source-map-explorer webpack-cli "
        "webpack-dev-server http-server serve live-server browser-sync json-server pm2 forever verdaccio "
        "sirv "
        # Tests of scripts
        "nyc c8 istanbul jasmine qunit tape uvu wtr web-test-runner testcafe nightwatch wdio codeceptjs "
        "cucumber cucumber-js storybook start-storybook build-storybook start-server-and-test stryker detox "
        "appium maestro "
        # Tests and versions of Python
        "coverage behave robotframework mutmut cosmic-ray asv pytest-watch ptw slipcover py-spy memray "
        "scalene kernprof mprof pip-licenses pipdeptree deptry fawltydeps licensecheck cyclonedx-py "
        "bump2version bumpversion bump-my-version tbump towncrier scriv cz commitizen commitlint gitlint "
        "git-cz conventional-changelog auto-changelog standard-changelog git-chglog all-contributors "
        # Python, compiled and packed
        "cython cythonize nuitka nuitka3 pyinstaller cx_Freeze briefcase py2app shiv pex zipapp auditwheel "
        "delocate-wheel delvewheel abi3audit pyoxidizer f2py numba pythran mypyc stubgen stubtest pytype "
        "pyre monkeytype basedpyright ty pyrefly "
        # Python that serves, computes and learns
        "jupyter jupyter-lab jupyter-notebook jupyter-nbconvert papermill voila streamlit gradio bokeh "
        "marimo ipdb bpython ptpython django-admin flask uvicorn gunicorn hypercorn daphne waitress-serve "
        "celery dramatiq arq huey scrapy airflow prefect dagster luigi kedro metaflow mlflow tensorboard "
        "torchrun accelerate deepspeed horovod dask modin nvcc nvprof nsys hipcc "
        # Java
        "javap jar jarsigner jlink jpackage jdeps jps jstack jmap jcmd jconsole jshell native-image kotlinc "
        "scalac groovyc ktor antlr4 jflex javacc bnd "
        # Haskell, OCaml and their like
        "ghci hsc2hs happy c2hs purs elm-test elm-format elm-review idris agda coqc lake isabelle ocamlc "
        "ocamlopt ocamlfind ocamlbuild dune dune-release utop refmt rescript bsb melange "
        # Further languages
        "iex erlc escript elixirc ameba nimpretty zls fpc lazbuild gnatmake gprbuild dmd ldc ldc2 gdc rdmd "
        "vala valac nasm yasm fasm tcc musl-gcc emcc em++ emcmake emmake emconfigure wasm-pack wasm-bindgen "
        "wasm-opt wat2wasm wasm2wat wasmtime wasm-tools wit-bindgen cbindgen bindgen uniffi-bindgen "
        "cargo-make leptos mdbook-linkcheck rust-analyzer miri "
        # Apple
        "xcodebuild xctool xcpretty xcbeautify swiftc sourcery swiftgen periphery jazzy docc tuist xcodegen "
        "pbxproj plutil codesign iconutil sips productbuild pkgbuild actool ibtool simctl ios-deploy "
        "applesimutils "
        # Android
        "d8 aapt aapt2 zipalign apksigner apktool jadx dex2jar bundletool monkeyrunner ndk-build proguard r8 "
        # Circuits and boards
        "iverilog verilator vvp yosys nextpnr-ice40 icepack ghdl gtkwave openscad freecad kicad-cli "
        "arm-none-eabi-gcc arm-none-eabi-objcopy avr-gcc avr-objcopy sdcc dtc mkimage genext2fs mksquashfs "
        "unsquashfs genisoimage mkisofs xorriso qemu-img qemu-system-x86_64 qemu-system-aarch64 qemu-arm "
        "renode simavr bochs "
        # Games
        "godot godot4 blender renpy dosbox-x rgbasm rgblink rgbfix cl65 ca65 ld65 "
        # Parsers, objects, coverage, linkers
        "bison yacc flex lex re2c ragel swig gperf aclocal autoheader autoreconf autoupdate autopoint "
        "libtool libtoolize gettextize msgfmt msgmerge xgettext msginit po4a itstool intltoolize ctags "
        "etags cscope gtags clangd ccache-swig gcov gcovr lcov genhtml llvm-cov llvm-profdata grcov kcov "
        "gprof callgrind_annotate ms_print pprof flamegraph inferno-flamegraph addr2line c++filt dwarfdump "
        "pahole patchelf chrpath install_name_tool llc opt lli llvm-ar llvm-as llvm-dis llvm-link lld "
        "ld.lld ld64.lld wasm-ld ar ranlib gcc-ranlib mold windres dlltool nsis makensis candle iscc "
        # Packages of systems
        "dpkg-deb dpkg-buildpackage debuild dch lintian rpmbuild rpmlint makepkg namcap checkinstall "
        "appimagetool linuxdeploy flatpak-builder nfpm fpm electron-builder electron-packager "
        "electron-forge electron nexe caxa neutralino tauri wails "
        # Science
        "samtools bcftools bedtools bwa bowtie2 hisat2 salmon kallisto fastqc multiqc snakemake cromwell "
        "cwltool toil nf-test snakefmt gromacs gmx lammps paraview pvpython octave matlab maxima gdalinfo "
        "gdal_translate gdalwarp ogr2ogr ogrinfo tippecanoe osmium mapshaper "
        # Servers
        "etcd redis-server mongod mysqld postgres initdb pg_ctl nginx caddy traefik haproxy httpd "
        "envoyproxy varnishd dnsmasq memcached rabbitmq-server nats-server minio zookeeper-server "
        "kafka-topics.sh elasticsearch opensearch prometheus alertmanager promtool amtool grafana-server "
        "logstash fluentd fluent-bit telegraf influxd otelcol jaeger zipkin "
        # For a terminal
        "tree-sitter antlr vimdiff meld kdiff3 difft delta diff-so-fancy fzf peco gum glow mdcat viu chafa "
        "timg asciinema vhs terminalizer figlet toilet cowsay lolcat boxes fortune neofetch fastfetch "
        "onefetch pfetch screenfetch dust duf ncdu gdu dua procs btop btm glances bandwhich "
        # Tables and trees of data
        "mlr xsv qsv csvtk in2csv csvsql dasel gron fx jless jo jc jello htmlq pup xq xmlstarlet tidy "
        "textql trdsql octosql sqlite-utils datasette sd choose hck rga ugrep zipgrep broot nnn ranger vifm "
        "yazi xplr zoxide mcfly atuin starship oh-my-posh "
        # Keys and files that are looked into
        "age rage minisign signify gpgv sq ssh-agent ssh-add john hashcat fcrackzip binwalk radare2 rabin2 "
        "ghidra volatility yara yarac clamscan chkrootkit rkhunter lynis checksec "
        # History, work, money
        "git-lfs git-absorb git-quick-stats git-fame git-of-theseus gource act earthly dagger ninja-build "
        "taskwarrior todo.sh timew khal calcurse hledger ledger beancount bean-check fava gnucash-cli "
        # Go, clusters and code that is generated
        "k6 terraform-docs terraform-ls cdk8s kompose pluto krane helm-docs chart-testing ct kubebuilder "
        "operator-sdk controller-gen conversion-gen client-gen deepcopy-gen openapi-gen mockgen mockery "
        "counterfeiter stringer sqlc oapi-codegen swagger swag ogen gqlgen easyjson ffjson enumer "
        "go-bindata packr statik gotestsum richgo gox gomobile cobra cobra-cli dlv benchstat go-licenses "
        "addlicense license-eye reuse scancode",
        always("X", "runs other code"),
    )
)
