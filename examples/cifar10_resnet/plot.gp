# Draws the curves of a run of cifar10_resnet: loss, accuracy and loss scale over steps.
# usage: gnuplot -e "folder='cifar10_results'; runs='float32 float16 bfloat16'" plot.gp    -> folder/curves.png
if (!exists("folder")) folder = "cifar10_results"
if (!exists("runs")) runs = "float32 float16 bfloat16"
file(i) = folder."/".word(runs, i).".csv"
n = words(runs)
colour(i) = int(word("9699539 40563 5682409 15114240", (i - 1) % 4 + 1))   # violet, green, blue, orange as numbers

set datafile separator ","
set terminal pngcairo size 1000,1100 font "sans,11"
set output folder."/curves.png"
set multiplot layout 3,1
set grid
set xrange [0:*]
set key top right
set lmargin 10
set style data lines

set ylabel "training loss"   # each step faintly, smoothed on top
plot for [i=1:n] file(i) using "step":"loss" linecolor rgb colour(i) + 0xb0000000 notitle, \
     for [i=1:n] file(i) using "step":"loss" smooth bezier linewidth 2 linecolor rgb colour(i) title word(runs, i)

set ylabel "test accuracy, %"
set key bottom right
plot for [i=1:n] file(i) using "step":"test_accuracy" with linespoints pointtype 7 pointsize .6 linewidth 2 linecolor rgb colour(i) title word(runs, i)

set xlabel "step"
set ylabel "loss scale"
set key center right
set logscale y 2
set format y "2^{%L}"
set yrange [.5:*]
plot for [i=1:n] file(i) using "step":"scale" with steps linewidth 2 linecolor rgb colour(i) title word(runs, i)
unset multiplot
